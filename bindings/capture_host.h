// What a region asks of Python: the graph builder, the backend, reports. The tracer is C++.
#pragma once

#include <nanobind/nanobind.h>

#include "capture/region/region_host.h"

namespace triptych::bindings {

// Forwards to an object with the methods of triptych.capture.host.Host.
class PythonHost final : public capture::RegionHost {
 public:
  explicit PythonHost(nanobind::object host) : host_(std::move(host)) {}

  Result<capture::CaptureResult> capture(const capture::CaptureRequest& request) override;
  Result<capture::Owned> compile(const capture::CaptureResult& captured,
                                 const capture::GuardProgram& guards,
                                 std::span<PyObject* const> inputs) override;
  void recompiles(const std::vector<capture::GuardFailure>& reasons) override;
  void breaks(const capture::Break& stop) override;
  void runs_eagerly(const Error& error) override;
  bool graph_raised(bool undone) override;
  void raise(const Error& error) override;
  int traverse(visitproc visit, void* arg) override;

 private:
  nanobind::object host_;
};

}  // namespace triptych::bindings
