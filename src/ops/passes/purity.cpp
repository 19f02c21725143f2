#include "ops/passes/purity.h"

#include <variant>

#include "ops/op_table.h"

namespace triptych::ops {

bool is_pure(const ir::Target& target) {
  const OpInfo* row = find(target);
  if (row == nullptr || target.schema->mutates()) return false;
  return !row->has(Tag::kRandom) && !row->has(Tag::kEffect) && !row->has(Tag::kInplace);
}

bool may_raise(const ir::Graph& graph, const ir::Node& node) {
  const OpInfo* row = find(*node.target);
  if (row == nullptr || !row->has(Tag::kRaises)) return false;
  if (!row->has(Tag::kPointwise)) return true;
  const auto* type = std::get_if<ir::TensorType>(&graph.value(node.results.front()).type);
  return type != nullptr && ir::is_integral(type->dtype, true);
}

}  // namespace triptych::ops
