#include "passes.h"

#include "codegen/loops/fuse.h"
#include "codegen/loops/lower.h"
#include "codegen/mapping/map.h"
#include "codegen/plan/assemble.h"
#include "ops/out_target.h"
#include "ops/passes/common_subexpression_elimination.h"
#include "ops/passes/dead_code_elimination.h"

namespace triptych::opt {
namespace {

using loops::LoopProgram;

// A machine of 32-byte vectors, not this one: texts are the same everywhere.
const mapping::Traits kTraits;

Result<LoopProgram> lower(ir::Graph graph) { return loops::lower(std::move(graph)); }
Result<LoopProgram> fuse(LoopProgram program) { return loops::fuse(std::move(program), kTraits); }
Result<LoopProgram> map(LoopProgram program) {
  return mapping::map_to_machine(std::move(program), kTraits);
}
Result<plan::Program> assemble(const LoopProgram& program) {
  return plan::assemble(program, {.reuse_memory = true, .out_target = ops::out_target});
}

}  // namespace

const Pass* PassRegistry::find(std::string_view name) const {
  for (const Pass& pass : passes_) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

Pass graph_pass(std::string_view name, std::string_view summary,
                const std::function<Status(ir::Graph&)>& function) {
  return make_pass<ir::Graph, ir::Graph>(
      name, summary, [function](ir::Graph graph) -> Result<ir::Graph> {
        TRIPTYCH_TRY([[maybe_unused]] const Unit done, function(graph));
        return graph;
      });
}

PassRegistry built_in_passes() {
  PassRegistry registry;
  registry.add(graph_pass("common_subexpression_elimination", "computes equal values once",
                          ops::common_subexpression_elimination));
  registry.add(graph_pass("dead_code_elimination", "drops nodes whose results nobody reads",
                          ops::dead_code_elimination));
  registry.add(make_pass<ir::Graph, LoopProgram>(
      "lower", "a graph becomes loops, views and external calls", lower));
  registry.add(make_pass<LoopProgram, LoopProgram>("fuse", "fuses kernels, drops dead work", fuse));
  registry.add(make_pass<LoopProgram, LoopProgram>(
      "map", "lays kernels onto a machine of 32-byte vectors", map));
  registry.add(make_pass<LoopProgram, plan::Program>(
      "plan", "places values in memory and makes a program", assemble));
  return registry;
}

}  // namespace triptych::opt
