#include "codegen/codegen.h"

#include <chrono>
#include <map>

#include "codegen/loops/fuse.h"
#include "codegen/mapping/map.h"
#include "codegen/plan/assemble.h"
#include "ops/op_table.h"
#include "ops/passes/common_subexpression_elimination.h"
#include "ops/passes/dead_code_elimination.h"

namespace triptych::codegen {

namespace {

class Stopwatch {
 public:
  void lap(std::string name) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back(
        {std::move(name), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }
  std::vector<StageTime> times() && { return std::move(times_); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<StageTime> times_;
};

loops::FuseOptions fuse_options(const Options& options) {
  return {.fuse = options.fuse, .eager_rounding = options.eager_rounding};
}

// The op table's word on which ops write into memory given to them.
const ir::Target* out_target(const ir::Target& target) {
  const ops::OpInfo* info = ops::find(target);
  if (info == nullptr || info->out_schema.empty()) return nullptr;
  auto schema = ir::parse_schema(info->out_schema);
  TRIPTYCH_CHECK(schema.ok(), "op table: out schema of " + target.name);
  const std::string name = schema.value().qualified();
  if (const ir::Target* known = ir::find_target(name); known != nullptr && known->schema)
    return known;
  return ir::intern_target(name, std::make_shared<const ir::Schema>(std::move(schema).value()));
}

std::vector<External> external_calls(const loops::LoopProgram& program) {
  std::vector<External> calls;
  for (const loops::Item& item : program.items) {
    const auto* external = std::get_if<loops::ExternalItem>(&item);
    if (external == nullptr) continue;
    calls.push_back({program.graph.node(external->node).target->name, external->reason});
  }
  return calls;
}

// What the graph says twice is computed once, what needs no input before any call.
Result<ir::Graph> simplified(ir::Graph graph, const Options& options) {
  TRIPTYCH_TRY([[maybe_unused]] Unit once, ops::common_subexpression_elimination(graph));
  if (options.fold_constants) {
    TRIPTYCH_TRY([[maybe_unused]] Unit folded, options.fold_constants(graph));
  }
  TRIPTYCH_TRY([[maybe_unused]] Unit dropped, ops::dead_code_elimination(graph));
  return graph;
}

}  // namespace

Result<Generated> generate(const ir::Graph& graph, const Target& target, const Options& options) {
  Generated result;
  Stopwatch watch;
  TRIPTYCH_TRY(ir::Graph simple, simplified(graph, options));
  watch.lap("simplify");
  TRIPTYCH_TRY(loops::LoopProgram loops, loops::lower(std::move(simple), options.lower));
  watch.lap("lower");
  TRIPTYCH_TRY(loops, loops::fuse(std::move(loops), target.traits, fuse_options(options)));
  watch.lap("fuse");
  TRIPTYCH_TRY(loops, mapping::map_to_machine(std::move(loops), target.traits));
  watch.lap("map");
  TRIPTYCH_TRY(result.program, plan::assemble(loops, {options.reuse_memory, out_target}));
  watch.lap("plan");
  TRIPTYCH_TRY(result.module, target.writer->write(result.program.kernels, target.traits));
  watch.lap("write");
  result.externals = external_calls(loops);
  result.times = std::move(watch).times();
  return result;
}

Result<loops::LoopProgram> intermediate_form(const ir::Graph& graph, Form form,
                                             const Target& target, const Options& options) {
  TRIPTYCH_TRY(ir::Graph simple, simplified(graph, options));
  TRIPTYCH_TRY(loops::LoopProgram loops, loops::lower(std::move(simple), options.lower));
  if (form == Form::kLowered) return loops;
  TRIPTYCH_TRY(loops, loops::fuse(std::move(loops), target.traits, fuse_options(options)));
  if (form == Form::kFused) return loops;
  return mapping::map_to_machine(std::move(loops), target.traits);
}

}  // namespace triptych::codegen
