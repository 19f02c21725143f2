// A lowering turns one node into a kernel (through `builder`) or views. The op table names each
// op's lowering.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codegen/loops/builder.h"
#include "codegen/loops/lower.h"
#include "ir/graph.h"

namespace triptych::loops {

class LoweringContext {
 public:
  LoweringContext(const ir::Graph& graph, const ir::Node& node, const ViewRoots& roots,
                  const std::vector<std::uint32_t>& uses, const LowerOptions& options,
                  Builder& builder)
      : graph(graph), node(node), roots(roots), options(options), builder(builder), uses_(uses) {}

  const ir::Graph& graph;
  const ir::Node& node;
  const ViewRoots& roots;
  const LowerOptions& options;
  Builder& builder;
  std::vector<ViewItem> views;    // filled by view lowerings instead of a kernel
  bool views_stay_inside = true;  // every element of the views is one of their base

  // Arguments by schema name.
  const ir::Argument* find_arg(
      std::string_view name) const;  // nullptr when the schema has no such argument
  const ir::Argument& arg(std::string_view name) const;
  bool given(std::string_view name) const;                     // present and not None
  std::optional<ValueId> tensor(std::string_view name) const;  // nullopt: None
  ValueId tensor_arg(std::string_view name) const;             // must be a tensor
  std::vector<ValueId> tensor_list(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;  // a constant integer
  bool boolean(std::string_view name) const;
  double number(std::string_view name) const;  // bool, int or float
  std::vector<std::int64_t> integers(
      std::string_view name) const;  // an int is a list of one; None is empty
  std::vector<SymExpr> sizes(std::string_view name) const;
  std::optional<std::string_view> string(std::string_view name) const;

  const ir::TensorType& type(ValueId value) const { return graph.tensor(value); }
  ValueId result(std::size_t i = 0) const { return node.results.at(i); }
  const ir::TensorType& result_type(std::size_t i = 0) const { return type(result(i)); }
  // Results that nothing reads are not computed.
  bool used(std::size_t i) const {
    return i < node.results.size() && uses_[node.results[i].value] > 0;
  }
  std::size_t rank(ValueId value) const { return type(value).sizes.size(); }

 private:
  const std::vector<std::uint32_t>& uses_;
};

using Lowering = Status (*)(LoweringContext&);

// By the name in the op table's `lower` column; nullptr when there is none.
Lowering find_lowering(std::string_view name);

// `exact`: no number is rounded to the dtype of the tensors before computing.
inline constexpr std::string_view kAllExact = "*";

// A pointwise op: loops over the result in logical order around one expression. `exact` is the op
// table's column of that name, or kAllExact.
Status lower_expression(LoweringContext& context, const Expression& expression,
                        std::string_view dtype_rule, std::string_view exact);

// Eager's result type of all tensors and numbers among the node's arguments.
DType promoted_dtype(const LoweringContext& context);

// A dim in [-rank, rank) made non-negative; rank 0 counts as 1.
std::size_t wrap_dim(std::int64_t dim, std::size_t rank);

// The error of a case that a lowering does not cover: the node stays an external call for this
// reason.
Error not_lowered(std::string message);

}  // namespace triptych::loops
