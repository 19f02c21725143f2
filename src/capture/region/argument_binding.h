// The arguments of a call as a fresh frame of a Python function has them in its variables.
#pragma once

#include <Python.h>

#include <vector>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

class BoundArguments {
 public:
  // False where CPython would raise, or the function is a generator or has code that binds another
  // way: the caller then lets CPython make the call.
  bool bind(PyFunctionObject* function, PyObject* const* arguments, Py_ssize_t positional,
            PyObject* keyword_names);

  // One per variable, cell and free variable of the frame; borrowed; null: nothing yet.
  const std::vector<PyObject*>& slots() const { return slots_; }
  void clear() {
    rest_ = Owned();
    keywords_ = Owned();
  }

 private:
  bool bind_keywords(PyFunctionObject* function, PyObject* const* values, PyObject* names);
  bool bind_defaults(PyFunctionObject* function);

  std::vector<PyObject*> slots_;
  Owned rest_;      // *args
  Owned keywords_;  // **kwargs
};

}  // namespace triptych::capture
