#include "passes.h"

#include "ops/passes/common_subexpression_elimination.h"
#include "ops/passes/dead_code_elimination.h"

namespace triptych::opt {

const GraphPass* PassRegistry::find(std::string_view name) const {
  for (const GraphPass& pass : passes_) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

PassRegistry built_in_passes() {
  PassRegistry registry;
  registry.add({"common_subexpression_elimination", "computes equal values once",
                ops::common_subexpression_elimination});
  registry.add({"dead_code_elimination", "drops nodes whose results nobody reads",
                ops::dead_code_elimination});
  return registry;
}

}  // namespace triptych::opt
