#include "normalize/normalize.h"

#include <algorithm>

#include "ir/verifier.h"
#include "normalize/signature.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"
#include "ops/passes/dead_code_elimination.h"

namespace triptych::normalize {
namespace {

// Functionalization leaves dead nodes behind (views replayed on every update), and constants that
// only they read.
Status remove_dead(ir::Graph& graph) {
  TRIPTYCH_TRY([[maybe_unused]] const Unit done, ops::dead_code_elimination(graph));
  const std::vector<std::uint32_t> uses = graph.use_counts();
  std::erase_if(graph.constants(),
                [&](const ir::Constant& constant) { return uses[constant.value.value] == 0; });
  return Unit{};
}

void write_symbols(Trace& trace) {
  trace.graph().symbols() = trace.shapes()->symbols();
  trace.graph().guards() = trace.shapes()->guards();
}

void write_locations(Trace& trace) {
  const std::vector<int>& locations = trace.node_locations();
  for (const ir::NodeId id : trace.graph().order()) {
    if (id.value >= locations.size() || locations[id.value] < 0) continue;
    NodeRunner::Resolved resolved = trace.runner().resolve_location(locations[id.value]);
    trace.graph().node(id).location = std::move(resolved.location);
    trace.graph().node(id).origin = std::move(resolved.origin);
  }
}

Status check_contract(Trace& trace) {
  ir::VerifyOptions options;
  options.allowed = [&](const ir::Target& target) {
    return trace.kept_targets().contains(&target);
  };
  const std::vector<Error> errors = ir::verify(trace.graph(), options);
  if (!errors.empty()) return errors.front();
  return Unit{};
}

}  // namespace

Result<ir::Graph> normalize(const NormalizeRequest& request, NodeRunner& runner,
                            NormalizeReport* report) {
  TRIPTYCH_TRY([[maybe_unused]] const Unit registered, register_trace_fallback());
  Trace trace(request.name, runner, request.keep);
  Unsupported::pending().reset();
  try {
    TraceScope scope(trace);
    Signature signature(trace, request.inputs);
    const std::vector<c10::IValue> outputs = runner.run_program(signature.traced_inputs());
    signature.finish(outputs);
  } catch (const Unsupported& unsupported) {
    return unsupported.error();
  } catch (...) {
    if (!Unsupported::pending()) throw;  // the program's own exception
    runner.discard_exception();
    return *Unsupported::pending();
  }
  TRIPTYCH_TRY([[maybe_unused]] const Unit removed, remove_dead(trace.graph()));
  write_symbols(trace);
  write_locations(trace);
  if (report != nullptr) {
    report->counters = trace.counters();
    report->specialized_sizes = trace.shapes()->specialized();
  }
  TRIPTYCH_TRY([[maybe_unused]] const Unit verified, check_contract(trace));
  return std::move(trace.graph());
}

}  // namespace triptych::normalize
