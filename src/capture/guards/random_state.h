// The state of the CPU's default generator of random numbers.
#pragma once

#include <Python.h>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

// As a tensor of bytes.
Owned read_random_state();
void write_random_state(PyObject* state);

}  // namespace triptych::capture
