#include "bindings.h"

#include <nanobind/nanobind.h>

NB_MODULE(_C, module) {
  using namespace triptych::bindings;
  // PyTorch's caches hold compiled programs until the process ends: that is no leak.
  nanobind::set_leak_warnings(false);
  bind_errors(module);
  bind_ir(module);
  bind_toolchains(module);
  bind_writers(module);
  bind_normalize(module);
  bind_capture(module);
  bind_codegen(module);
  bind_pipeline(module);
  bind_rules(module);
  bind_runtime(module);
  bind_trace(module);
}
