// Results put together from ranges of one dim, each range read from its own tensor: one loop per
// range under common loops over the dims before.
#include <algorithm>

#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
namespace {

// Along `dim` of the result, [begin, begin + length) reads `source` at the same index with
// (position - begin) * step + start instead.
struct Range {
  SymExpr begin, length;
  ValueId source;
  SymExpr start;
  bool drops_dim = false;  // the source has no such dim (stack, select_scatter)
};

// More loops than this in one kernel cost more to compile than they save.
constexpr std::size_t kMostRanges = 16;

void store_ranges(LoweringContext& context, std::size_t dim, std::span<const Range> ranges) {
  Builder& builder = context.builder;
  const std::vector<SymExpr>& sizes = context.result_type().sizes;
  const std::vector<SymExpr> outer = builder.open_loops(std::span(sizes).first(dim));
  const int open = builder.open_count();
  for (const Range& range : ranges) {
    if (range.length.as_constant() == 0) continue;
    const SymExpr position = builder.open_loop(range.length);
    const std::vector<SymExpr> inner = builder.open_loops(std::span(sizes).subspan(dim + 1));
    std::vector<SymExpr> index = outer;
    std::vector<SymExpr> source = outer;
    index.push_back(range.begin + position);
    if (!range.drops_dim) source.push_back(range.start + position);
    index.insert(index.end(), inner.begin(), inner.end());
    source.insert(source.end(), inner.begin(), inner.end());
    builder.store(context.result(), index, builder.load(range.source, source));
    builder.close_loops(builder.open_count() - open);
  }
}

}  // namespace

Status lower_cat(LoweringContext& context) {
  if (context.tensor_list("tensors").size() > kMostRanges)
    return not_lowered("cat of many tensors");
  const std::size_t rank = context.result_type().sizes.size();
  const std::size_t dim = wrap_dim(context.integer("dim"), rank);
  std::vector<Range> ranges;
  SymExpr begin(0);
  for (const ValueId tensor : context.tensor_list("tensors")) {
    const std::vector<SymExpr>& sizes = context.type(tensor).sizes;
    if (sizes.size() != rank) continue;  // eager skips 1-d tensors without elements
    ranges.push_back({.begin = begin, .length = sizes[dim], .source = tensor});
    begin += sizes[dim];
  }
  if (element_extent(context.result_type()).as_constant() == 0)
    return not_lowered("cat of nothing");
  store_ranges(context, dim, ranges);
  return Unit{};
}

Status lower_stack(LoweringContext& context) {
  if (context.tensor_list("tensors").size() > kMostRanges)
    return not_lowered("stack of many tensors");
  const std::size_t dim = wrap_dim(context.integer("dim"), context.result_type().sizes.size());
  if (element_extent(context.result_type()).as_constant() == 0)
    return not_lowered("stack of nothing");
  std::vector<Range> ranges;
  for (const ValueId tensor : context.tensor_list("tensors")) {
    ranges.push_back({.begin = SymExpr(static_cast<std::int64_t>(ranges.size())),
                      .length = 1,
                      .source = tensor,
                      .drops_dim = true});
  }
  store_ranges(context, dim, ranges);
  return Unit{};
}

namespace {

// self with [begin, begin + length) along dim read from src.
Status scatter(LoweringContext& context, std::size_t dim, const SymExpr& begin,
               const SymExpr& length, bool drops_dim) {
  const ValueId self = context.tensor_arg("self");
  const SymExpr end = begin + length;
  const std::vector<Range> ranges = {
      {.begin = 0, .length = begin, .source = self},
      {.begin = begin,
       .length = length,
       .source = context.tensor_arg("src"),
       .drops_dim = drops_dim},
      {.begin = end, .length = context.type(self).sizes[dim] - end, .source = self, .start = end}};
  store_ranges(context, dim, ranges);
  return Unit{};
}

}  // namespace

Status lower_select_scatter(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const std::size_t dim = wrap_dim(context.integer("dim"), context.rank(self));
  const SymExpr index = context.sizes("index").at(0);
  const auto constant = index.as_constant();
  if (!constant) return not_lowered("select_scatter at a symbolic index");
  const SymExpr begin = *constant < 0 ? index + context.type(self).sizes[dim] : index;
  return scatter(context, dim, begin, 1, true);
}

Status lower_slice_scatter(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const std::size_t dim = wrap_dim(context.integer("dim"), context.rank(self));
  if (context.sizes("step").at(0).as_constant() != 1)
    return not_lowered("slice_scatter with a step");
  const SymExpr& size = context.type(self).sizes[dim];
  SymExpr begin(0);
  if (context.given("start")) {
    const auto start = context.sizes("start").at(0).as_constant();
    if (!start) return not_lowered("slice_scatter from a symbolic index");
    begin = *start < 0 ? size + SymExpr(*start) : SymExpr(*start);
    if (const auto known = size.as_constant()) {
      begin = std::clamp<std::int64_t>(*begin.as_constant(), 0, *known);
    } else if (*start != 0) {
      return not_lowered("slice_scatter of a symbolic size");
    }
  }
  // src has exactly the slice's length.
  return scatter(context, dim, begin, context.type(context.tensor_arg("src")).sizes[dim], false);
}

}  // namespace triptych::loops
