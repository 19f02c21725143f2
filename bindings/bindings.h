// The extension module: one bind_<area> per domain; no logic here, only conversion of types and
// errors.
#pragma once

#include <nanobind/nanobind.h>

#include "support/result.h"

namespace triptych::bindings {

void bind_capture(nanobind::module_& module);
void bind_codegen(nanobind::module_& module);
void bind_errors(nanobind::module_& module);
void bind_ir(nanobind::module_& module);
void bind_toolchains(nanobind::module_& module);
void bind_trace(nanobind::module_& module);
void bind_writers(nanobind::module_& module);
void bind_normalize(nanobind::module_& module);
void bind_pipeline(nanobind::module_& module);
void bind_rules(nanobind::module_& module);
void bind_runtime(nanobind::module_& module);

// Raises the Python exception of the error's kind (triptych.errors).
[[noreturn]] void raise(const Error& error);

template <class T>
T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}
inline void unwrap(const Status& status) {
  if (!status.ok()) raise(status.error());
}

}  // namespace triptych::bindings
