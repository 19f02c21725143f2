#include "ops/passes/dead_code_elimination.h"

#include <algorithm>

#include "ops/passes/purity.h"

namespace triptych::ops {

Status dead_code_elimination(ir::Graph& graph) {
  std::vector<std::uint32_t> uses = graph.use_counts();
  std::vector<ir::NodeId> kept;
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    const ir::Node& node = graph.node(*id);
    const bool used = std::any_of(node.results.begin(), node.results.end(),
                                  [&](ir::ValueId value) { return uses[value.value] != 0; });
    if (used || !is_pure(*node.target) || may_raise(graph, node)) {
      kept.push_back(*id);
      continue;
    }
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ir::ValueId value) { --uses[value.value]; });
    }
  }
  std::reverse(kept.begin(), kept.end());
  graph.order() = std::move(kept);
  return Unit{};
}

}  // namespace triptych::ops
