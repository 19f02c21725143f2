// What a region needs from outside: the tracer, the backend, and whoever counts and reports.
#pragma once

#include <Python.h>

#include <span>
#include <string>
#include <vector>

#include "capture/guards/guard_program.h"
#include "capture/interpreter/reference.h"
#include "capture/region/capture_result.h"
#include "support/result.h"

namespace triptych::capture {

class RegionHost {
 public:
  virtual ~RegionHost() = default;

  virtual Result<CaptureResult> capture(const CaptureRequest& request) = 0;
  // A callable over the inputs that returns a tuple or list of the outputs. Never called for a
  // graph without nodes. An error's kind says what becomes of the call; a Python exception that is
  // the user's to see is left set, and the error is of kind kUser.
  virtual Result<Owned> compile(const CaptureResult& captured, const GuardProgram& guards,
                                std::span<PyObject* const> inputs) = 0;

  // Reports. What they raise is ignored.
  virtual void recompiles(const std::vector<GuardFailure>& reasons) = 0;
  virtual void breaks(const Break& stop) = 0;
  virtual void runs_eagerly(const Error& error) = 0;

  // A graph has raised the exception that is set. With `undone` nothing of its run remains. True:
  // the program itself is to run now, and no exception is set; else the exception is the caller's.
  virtual bool graph_raised(bool undone) = 0;

  // Sets the Python exception of an error.
  virtual void raise(const Error& error) = 0;
  virtual int traverse(visitproc visit, void* arg) = 0;
};

}  // namespace triptych::capture
