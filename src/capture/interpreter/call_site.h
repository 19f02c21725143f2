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

// A callable for the call that follows, with its `self` where it has one. Until 3.12 an absent
// `self` is a null below the callable, from 3.13 a null above it.
void push_callable(Activation& activation, Owned callable, Owned self);

}  // namespace triptych::capture
