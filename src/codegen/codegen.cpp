#include "codegen/codegen.h"

#include <algorithm>
#include <chrono>

#include "codegen/loops/fuse.h"
#include "codegen/mapping/map.h"
#include "codegen/plan/assemble.h"
#include "ops/out_target.h"
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

// The stage behind lowering, as a table of contents.
Result<Generated> generate_from(loops::LoopProgram loops, Form form, const Target& target,
                                const Options& options, Stopwatch watch) {
  Generated result;
  TRIPTYCH_TRY(loops, advance(std::move(loops), form, Form::kFused, target, options));
  watch.lap("fuse");
  TRIPTYCH_TRY(loops, advance(std::move(loops), std::max(form, Form::kFused), Form::kMapped, target,
                              options));
  watch.lap("map");
  TRIPTYCH_TRY(result.program, plan::assemble(loops, {options.reuse_memory, ops::out_target}));
  watch.lap("plan");
  TRIPTYCH_TRY(result.module, target.writer->write(result.program.kernels, target.traits));
  watch.lap("write");
  result.externals = external_calls(loops);
  result.times = std::move(watch).times();
  return result;
}

}  // namespace

Result<Generated> generate(const ir::Graph& graph, const Target& target, const Options& options) {
  Stopwatch watch;
  TRIPTYCH_TRY(ir::Graph simple, simplified(graph, options));
  watch.lap("simplify");
  TRIPTYCH_TRY(loops::LoopProgram loops, loops::lower(std::move(simple), options.lower));
  watch.lap("lower");
  return generate_from(std::move(loops), Form::kLowered, target, options, std::move(watch));
}

Result<Generated> generate_from(loops::LoopProgram program, Form form, const Target& target,
                                const Options& options) {
  return generate_from(std::move(program), form, target, options, Stopwatch());
}

Result<Generated> generate_from(plan::Program program, const Target& target) {
  Generated result;
  result.program = std::move(program);
  TRIPTYCH_TRY(result.module, target.writer->write(result.program.kernels, target.traits));
  return result;
}

Result<loops::LoopProgram> intermediate_form(const ir::Graph& graph, Form form,
                                             const Target& target, const Options& options) {
  TRIPTYCH_TRY(ir::Graph simple, simplified(graph, options));
  TRIPTYCH_TRY(loops::LoopProgram loops, loops::lower(std::move(simple), options.lower));
  return advance(std::move(loops), Form::kLowered, form, target, options);
}

Result<loops::LoopProgram> advance(loops::LoopProgram program, Form from, Form to,
                                   const Target& target, const Options& options) {
  if (from < Form::kFused && to >= Form::kFused) {
    TRIPTYCH_TRY(program, loops::fuse(std::move(program), target.traits, fuse_options(options)));
  }
  if (from < Form::kMapped && to >= Form::kMapped) {
    TRIPTYCH_TRY(program, mapping::map_to_machine(std::move(program), target.traits));
  }
  return program;
}

}  // namespace triptych::codegen
