// The operands of a call, where they lie on the stack.
#pragma once

#include <Python.h>

#include "capture/interpreter/activation.h"

namespace triptych::capture {

struct CallSite {
  Borrowed callable;
  PyObject**
      arguments;  // `self` first where there is one; the place before the first may be written
  Py_ssize_t positional;   // `self` counts
  Borrowed keyword_names;  // a tuple, or null; their values follow the positional arguments
  int operands;            // how many places of the stack belong to the call
};

// Of a `call` or `call_kw` that is about to run.
CallSite call_site(Activation& activation, const Instruction& instruction);

}  // namespace triptych::capture
