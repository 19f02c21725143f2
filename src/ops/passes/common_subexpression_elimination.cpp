#include "ops/passes/common_subexpression_elimination.h"

#include <unordered_map>

#include "ir/literal_text.h"
#include "ir/type_text.h"
#include "ops/passes/purity.h"

namespace triptych::ops {
namespace {

// Equal keys: equal target, arguments and result types. Types differ where the shapes' expressions
// do.
std::string key_of(const ir::Graph& graph, const ir::Node& node) {
  std::string key = node.target->name;
  for (const ir::Argument& argument : node.args) {
    key += ' ';
    ir::append_literal(argument, key);
  }
  key += " ->";
  for (const ir::ValueId result : node.results) {
    key += ' ';
    ir::append_type(graph.value(result).type, key);
  }
  return key;
}

std::vector<bool> leaving_values(const ir::Graph& graph) {
  std::vector<bool> leaves(graph.num_values());
  const auto mark = [&](ir::ValueId value) {
    if (value.valid()) leaves[value.value] = true;
  };
  for (const ir::Output& output : graph.outputs()) {
    mark(output.value);
    ir::for_each_value(output.literal, mark);
  }
  for (const ir::Mutation& mutation : graph.mutations()) mark(mutation.value);
  return leaves;
}

}  // namespace

Status common_subexpression_elimination(ir::Graph& graph) {
  const std::vector<bool> leaves = leaving_values(graph);
  std::vector<ir::ValueId> replacement(graph.num_values());
  const auto replaced = [&](ir::ValueId value) {
    return replacement[value.value].valid() ? replacement[value.value] : value;
  };
  std::unordered_map<std::string, ir::NodeId> seen;
  std::vector<ir::NodeId> kept;
  for (const ir::NodeId id : graph.order()) {
    ir::Node& node = graph.node(id);
    for (ir::Argument& argument : node.args) argument = ir::map_values(argument, replaced);
    bool replaceable = is_pure(*node.target);
    for (const ir::ValueId result : node.results) replaceable &= !leaves[result.value];
    if (!is_pure(*node.target)) {
      kept.push_back(id);
      continue;
    }
    const auto [first, is_new] = seen.try_emplace(key_of(graph, node), id);
    if (is_new || !replaceable) {
      kept.push_back(id);
      continue;
    }
    const ir::Node& same = graph.node(first->second);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      replacement[node.results[i].value] = same.results[i];
    }
  }
  graph.order() = std::move(kept);
  return Unit{};
}

}  // namespace triptych::ops
