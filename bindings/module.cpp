#include "bindings.h"

NB_MODULE(_C, module) {
  using namespace triptych::bindings;
  bind_errors(module);
  bind_ir(module);
  bind_writers(module);
  bind_normalize(module);
  bind_codegen(module);
  bind_rules(module);
  bind_runtime(module);
}
