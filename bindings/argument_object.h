// Literals of the IR as Python objects.
#pragma once

#include <Python.h>

#include "ir/argument.h"

namespace triptych::bindings {

// New reference; nullptr with a Python error set. `symbolic` is the value of a symbolic integer.
PyObject* argument_object(const ir::Argument& argument, std::int64_t symbolic);

}  // namespace triptych::bindings
