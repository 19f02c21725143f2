// C++ exceptions as Python exceptions, for functions that CPython calls without nanobind between.
#pragma once

namespace triptych::bindings {

// Sets the Python error for the exception being handled: our own, torch's, nanobind's, standard
// ones. To be called inside a catch block.
void set_python_error() noexcept;

// Teaches nanobind's functions what the runtime throws.
void register_runtime_exceptions();

}  // namespace triptych::bindings
