#include "codegen/loops/lowerings/row.h"

namespace triptych::loops {

SymExpr Row::count() const {
  SymExpr count(1);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (reduced[d]) count *= sizes[d];
  }
  return count;
}

std::size_t Row::reduced_loops() const {
  std::size_t loops = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) loops += reduced[d] && !is_one(sizes[d]) ? 1 : 0;
  return loops;
}

std::vector<SymExpr> Row::result_index() const {
  std::vector<SymExpr> index;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!reduced[d]) index.push_back(outer[d]);
    if (reduced[d] && keepdim) index.emplace_back(0);
  }
  return index;
}

Row row_of_dims(const LoweringContext& context, ValueId self, std::span<const std::size_t> dims,
                bool keepdim) {
  Row row;
  row.sizes = context.type(self).sizes;
  row.reduced.assign(row.sizes.size(), false);
  row.keepdim = keepdim;
  for (const std::size_t dim : dims) {
    if (dim < row.sizes.size())
      row.reduced[dim] = true;  // a 0-d tensor has a dim 0 to reduce, of one element
  }
  return row;
}

Row row_of_arguments(const LoweringContext& context, ValueId self) {
  const std::size_t rank = context.rank(self);
  const bool keepdim = context.find_arg("keepdim") != nullptr && context.boolean("keepdim");
  std::vector<std::size_t> dims;
  if (context.given("dim")) {
    for (const std::int64_t dim : context.integers("dim")) dims.push_back(wrap_dim(dim, rank));
  }
  if (dims.empty()) {
    // An empty list means all dims for most ops and none for any.dims and all.dims: the result's
    // shape tells.
    const bool none =
        context.given("dim") && context.result_type().sizes == context.type(self).sizes;
    for (std::size_t d = 0; d < rank && !none; ++d) dims.push_back(d);
  }
  return row_of_dims(context, self, dims, keepdim);
}

void open_rows(Builder& builder, Row& row) {
  row.outer.assign(row.sizes.size(), SymExpr(0));
  for (std::size_t d = 0; d < row.sizes.size(); ++d) {
    if (!row.reduced[d]) row.outer[d] = builder.open_loop(row.sizes[d]);
  }
}

std::vector<SymExpr> open_pass(Builder& builder, const Row& row) {
  std::vector<SymExpr> index = row.outer;
  for (std::size_t d = 0; d < row.sizes.size(); ++d) {
    if (row.reduced[d]) index[d] = builder.open_loop(row.sizes[d]);
  }
  return index;
}

std::vector<ScalarId> close_pass(Builder& builder, int open_before,
                                 std::span<const Builder::Reduce> reductions) {
  return builder.close_reducing(open_before, reductions);
}

ScalarId count_scalar(Builder& builder, const SymExpr& count, DType dtype) {
  if (const auto constant = count.as_constant()) return builder.constant_int(dtype, *constant);
  return builder.cast(builder.index_value(count), dtype);
}

}  // namespace triptych::loops
