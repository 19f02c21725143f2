// The layout questions that c10 asks of symbolic sizes. Each follows c10/core/Contiguity.h and
// MemoryFormat.h; what the ranges do not decide is decided at the hints and becomes a fact of the
// answer.
#include <algorithm>
#include <numeric>

#include <c10/util/Exception.h>

#include "normalize/tracer/sym_node.h"

namespace triptych::normalize {

using ir::SymExpr;
using ir::SymGuard;
using Kind = ir::SymGuard::Kind;

static std::vector<SymExpr> expressions(SymNode::Nodes nodes) {
  std::vector<SymExpr> result;
  result.reserve(nodes.size());
  for (const c10::SymNode& node : nodes) {
    const SymNode* ours = as_our_node(*node);
    if (ours != nullptr) {
      result.push_back(ours->int_expr());
    } else {
      const auto constant = node->maybe_as_int();
      TORCH_CHECK(constant, "triptych: a symbolic size that is not of this trace");
      result.push_back(*constant);
    }
  }
  return result;
}

// Strides are the running product of the sizes in `order` (innermost first); dimensions of size 1
// do not count.
c10::SymNode SymNode::ordered_contiguous(Nodes size_nodes, Nodes stride_nodes,
                                         const std::vector<int>& order) const {
  if (size_nodes.size() != order.size()) return make(SymBoolValue{false, {}});
  const auto sizes = expressions(size_nodes);
  const auto strides = expressions(stride_nodes);
  SymBoolValue result{true, {}};
  for (const SymExpr& size : sizes) {
    if (size.is_constant() && size.constant() == 0) return make(std::move(result));
  }
  SymExpr expected = 1;
  for (const int d : order) {
    if (shapes_->decide(Kind::kEq, sizes[d], 1, result.facts)) continue;
    std::vector<SymGuard> fact;
    if (!shapes_->decide(Kind::kEq, strides[d], expected, fact)) {
      // The sizes skipped so far matter too: their facts stay.
      result.facts.insert(result.facts.end(), fact.begin(), fact.end());
      result.value = false;
      return make(std::move(result));
    }
    result.facts.insert(result.facts.end(), fact.begin(), fact.end());
    expected *= sizes[d];
  }
  return make(std::move(result));
}

// c10::is_channels_last_strides_2d_s4: strides in channels-last order, without ambiguity.
c10::SymNode SymNode::channels_last_strides(Nodes size_nodes, Nodes stride_nodes,
                                            const std::vector<int>& order) const {
  if (size_nodes.size() != order.size()) return make(SymBoolValue{false, {}});
  const auto sizes = expressions(size_nodes);
  const auto strides = expressions(stride_nodes);
  SymBoolValue result{false, {}};
  SymExpr minimum = 0;
  if (shapes_->decide(Kind::kEq, strides[1], 0, result.facts)) return make(std::move(result));
  for (const int d : order) {
    if (shapes_->decide(Kind::kEq, sizes[d], 0, result.facts)) return make(std::move(result));
    if (shapes_->decide(Kind::kLt, strides[d], minimum, result.facts))
      return make(std::move(result));
    if (d == 0 && shapes_->decide(Kind::kEq, minimum, strides[1], result.facts))
      return make(std::move(result));
    minimum = strides[d];
    if (shapes_->decide(Kind::kLt, 1, sizes[d], result.facts)) minimum *= sizes[d];
  }
  result.value = true;
  return make(std::move(result));
}

c10::SymNode SymNode::is_contiguous(Nodes sizes, Nodes strides) {
  std::vector<int> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return ordered_contiguous(sizes, strides, order);
}

c10::SymNode SymNode::is_channels_last_contiguous_2d(Nodes sizes, Nodes strides) {
  return ordered_contiguous(sizes, strides, {1, 3, 2, 0});
}

c10::SymNode SymNode::is_channels_last_contiguous_3d(Nodes sizes, Nodes strides) {
  return ordered_contiguous(sizes, strides, {1, 4, 3, 2, 0});
}

c10::SymNode SymNode::is_channels_last_strides_2d(Nodes sizes, Nodes strides) {
  return channels_last_strides(sizes, strides, {1, 3, 2, 0});
}

c10::SymNode SymNode::is_channels_last_strides_3d(Nodes sizes, Nodes strides) {
  return channels_last_strides(sizes, strides, {1, 4, 3, 2, 0});
}

// Some order of the dimensions makes the strides running products; the order at the hints is tried.
c10::SymNode SymNode::is_non_overlapping_and_dense(Nodes sizes, Nodes strides) {
  const auto size_exprs = expressions(sizes);
  const auto stride_exprs = expressions(strides);
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const bool unit_a = shapes_->hint(size_exprs[a]) < 2;
    const bool unit_b = shapes_->hint(size_exprs[b]) < 2;
    if (unit_a != unit_b) return unit_b;
    return shapes_->hint(stride_exprs[a]) < shapes_->hint(stride_exprs[b]);
  });
  c10::SymNode answer = ordered_contiguous(sizes, strides, order);
  SymBoolValue value = as_our_node(*answer)->bool_value();
  if (value.value) return answer;
  // "No" holds only for this order of the strides.
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    shapes_->decide(Kind::kLe, stride_exprs[order[i]], stride_exprs[order[i + 1]], value.facts);
  }
  return make(std::move(value));
}

}  // namespace triptych::normalize
