#include "normalize/clean_up.h"

#include <algorithm>

#include "ops/op_table.h"

namespace triptych::normalize {

static bool must_stay(const ir::Node& node) {
  if (node.results.empty()) return true;
  const ops::OpInfo* info = ops::find(*node.target);
  if (info == nullptr) return true;  // an op that we know nothing of may have effects
  return info->has(ops::Tag::kRandom) || info->has(ops::Tag::kEffect);
}

void remove_dead_nodes(ir::Graph& graph) {
  std::vector<bool> live(graph.num_values(), false);
  const auto mark = [&](ir::ValueId id) {
    if (id.valid()) live[id.value] = true;
  };
  for (const ir::Output& output : graph.outputs()) mark(output.value);
  for (const ir::Mutation& mutation : graph.mutations()) mark(mutation.value);
  std::vector<ir::NodeId> kept;
  for (auto it = graph.order().rbegin(); it != graph.order().rend(); ++it) {
    const ir::Node& node = graph.node(*it);
    const bool used = std::any_of(node.results.begin(), node.results.end(),
                                  [&](ir::ValueId id) { return live[id.value]; });
    if (!used && !must_stay(node)) continue;
    for (const ir::Argument& argument : node.args) ir::for_each_value(argument, mark);
    kept.push_back(*it);
  }
  graph.order().assign(kept.rbegin(), kept.rend());
  // Constants that only dead nodes read go too; their values stay in the table of values, unused.
  std::erase_if(graph.constants(),
                [&](const ir::Constant& constant) { return !live[constant.value.value]; });
}

}  // namespace triptych::normalize
