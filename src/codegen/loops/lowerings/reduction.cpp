// Sums, products, extremes, truth over dims.
#include <array>

#include "codegen/loops/lowerings/families.h"
#include "codegen/loops/lowerings/row.h"

namespace triptych::loops {
namespace {

// The usual case: value(x) reduced by `op` in `compute`, stored through finish(accumulator).
template <class Finish>
Status reduce(LoweringContext& context, ReduceOp op, DType compute, const Finish& finish) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  Row row = row_of_arguments(context, self);
  open_rows(builder, row);
  const ScalarId reduced = reduce_pass(builder, row, op, [&](std::span<const SymExpr> index) {
    return builder.load_as(self, index, compute);
  });
  builder.store(context.result(), row.result_index(), finish(row, reduced));
  return Unit{};
}

Status plain(LoweringContext& context, ReduceOp op, DType compute) {
  return reduce(context, op, compute, [](const Row&, ScalarId reduced) { return reduced; });
}

DType result_compute(const LoweringContext& context) {
  return arithmetic_dtype(context.result_type().dtype);
}

// min and max of bools are all and any.
Status extreme(LoweringContext& context, ReduceOp op) {
  const DType dtype = context.type(context.tensor_arg("self")).dtype;
  if (dtype != DType::kBool) return plain(context, op, arithmetic_dtype(dtype));
  return plain(context, op == ReduceOp::kMax ? ReduceOp::kAny : ReduceOp::kAll, dtype);
}

// Order comparisons are made on numbers.
DType ordered_dtype(DType dtype) {
  return dtype == DType::kBool ? DType::kU8 : arithmetic_dtype(dtype);
}

// Value and position of the extreme along one loop. position(index) is stored to `indices`.
struct Extreme {
  std::optional<ValueId> values, indices;
};

Status positions(LoweringContext& context, ReduceOp op, const Extreme& results) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const std::size_t rank = context.rank(self);
  const bool flat = !context.given("dim");
  Row row = row_of_arguments(context, self);
  open_rows(builder, row);
  const int before = builder.open_count();
  std::vector<SymExpr> index = row.outer;
  if (flat) {
    // One loop over all elements in logical order, taken apart into an index.
    SymExpr rest = builder.open_loop(row.count());
    for (std::size_t d = rank; d-- > 0;) {
      const bool outermost = d == 0;
      index[d] = outermost ? rest : mod(rest, row.sizes[d]);
      if (is_one(row.sizes[d])) index[d] = SymExpr(0);
      if (!outermost) rest = floordiv(rest, row.sizes[d]);
    }
  } else {
    index = open_pass(builder, row);
  }
  const ScalarId value = builder.load_as(self, index, ordered_dtype(context.type(self).dtype));
  const Builder::Reduce reduce{op, value};
  const bool single = builder.open_count() == before;  // one element: no loop, position 0
  const std::vector<ScalarId> found = close_pass(builder, before, std::span(&reduce, 1));
  const ScalarId position = single ? builder.constant_int(DType::kI64, 0) : found[1];
  const std::vector<SymExpr> at = row.result_index();
  if (results.values) builder.store(*results.values, at, found[0]);
  if (results.indices) builder.store(*results.indices, at, position);
  return Unit{};
}

Status with_positions(LoweringContext& context, ReduceOp op) {
  Extreme results;
  if (context.used(0)) results.values = context.result(0);
  if (context.used(1)) results.indices = context.result(1);
  if (!results.indices)
    return extreme(context, op == ReduceOp::kArgMax ? ReduceOp::kMax : ReduceOp::kMin);
  return positions(context, op, results);
}

}  // namespace

Status lower_sum(LoweringContext& context) {
  return plain(context, ReduceOp::kSum, result_compute(context));
}
Status lower_prod(LoweringContext& context) {
  return plain(context, ReduceOp::kProd, result_compute(context));
}

Status lower_mean(LoweringContext& context) {
  const DType compute = result_compute(context);
  return reduce(context, ReduceOp::kSum, compute, [&](const Row& row, ScalarId sum) {
    return context.builder.binary(ScalarOp::kDiv, sum,
                                  count_scalar(context.builder, row.count(), compute));
  });
}

Status lower_amax(LoweringContext& context) { return extreme(context, ReduceOp::kMax); }
Status lower_amin(LoweringContext& context) { return extreme(context, ReduceOp::kMin); }
Status lower_any(LoweringContext& context) { return plain(context, ReduceOp::kAny, DType::kBool); }
Status lower_all(LoweringContext& context) { return plain(context, ReduceOp::kAll, DType::kBool); }

Status lower_aminmax(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const DType dtype = context.type(self).dtype;
  if (dtype == DType::kBool) return not_lowered("aminmax of bools");
  Builder& builder = context.builder;
  Row row = row_of_arguments(context, self);
  open_rows(builder, row);
  const int before = builder.open_count();
  const std::vector<SymExpr> index = open_pass(builder, row);
  const ScalarId value = builder.load_as(self, index, arithmetic_dtype(dtype));
  const std::array reductions = {Builder::Reduce{ReduceOp::kMin, value},
                                 Builder::Reduce{ReduceOp::kMax, value}};
  const std::vector<ScalarId> found = close_pass(builder, before, reductions);
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.used(i)) builder.store(context.result(i), row.result_index(), found[i]);
  }
  return Unit{};
}

Status lower_argmax(LoweringContext& context) {
  return positions(context, ReduceOp::kArgMax, {.indices = context.result()});
}
Status lower_argmin(LoweringContext& context) {
  return positions(context, ReduceOp::kArgMin, {.indices = context.result()});
}
Status lower_max_dim(LoweringContext& context) {
  return with_positions(context, ReduceOp::kArgMax);
}
Status lower_min_dim(LoweringContext& context) {
  return with_positions(context, ReduceOp::kArgMin);
}

}  // namespace triptych::loops
