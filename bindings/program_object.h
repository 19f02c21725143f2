// The callable that runs a program: a type of its own, so that a call is one vectorcall and nothing
// else.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "runtime/executable.h"

namespace triptych::bindings {

// A callable over tensors and integers that returns a tuple. `keep_alive` owns the kernels' machine
// code.
nanobind::object make_program_object(std::shared_ptr<runtime::Executable> executable,
                                     nanobind::object keep_alive);

// Adds the type to the module.
void bind_program_object(nanobind::module_& module);

// Python's arguments as the runtime's. Throws nanobind's type_error for other objects.
void read_inputs(PyObject* const* args, std::size_t count, std::vector<runtime::InputRef>& inputs);

}  // namespace triptych::bindings
