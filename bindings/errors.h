// The Python border: Error values and C++ exceptions as Python exceptions.
#pragma once

#include <utility>

#include "support/result.h"

namespace triptych::bindings {

// Raises the class of triptych.errors that belongs to the error's kind (throws nanobind's python_error).
[[noreturn]] void raise(const Error& error);

template <class T>
T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}

// Sets the Python error for the exception being handled: our own errors, torch's, nanobind's, standard ones.
// For functions that CPython calls directly; call inside a catch block.
void set_python_error() noexcept;

// Teaches nanobind's functions the same.
void register_exceptions();

}  // namespace triptych::bindings
