// What one run of a compiled graph changes beside its outputs: tensors that it writes, and the
// state of the generator that it draws from.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/interpreter/reference.h"
#include "capture/region/capture_result.h"

namespace triptych::capture {

class GraphRun {
 public:
  // Whether runs of the graph have to begin: others change nothing.
  static bool may_change_state(const CaptureResult& captured);

  void begin(const CaptureResult& captured, std::span<PyObject* const> inputs);

  // After a run that returned. A compiled graph may write a tensor once where the program wrote it
  // several times: autograd's count of writes becomes what it is after the program. Where gradients
  // are needed the backend has run the program's own operations.
  void settle() const;

  // After a run that raised: whether nothing of it remains. The generator then is as it was.
  bool undo() const;

 private:
  struct Count {
    PyObject* tensor;
    std::int64_t before, writes;
  };
  std::vector<Count> counts_;
  Owned random_;         // the state of the generator
  bool hidden_ = false;  // what it writes cannot be told
  bool settles_ = false;
};

}  // namespace triptych::capture
