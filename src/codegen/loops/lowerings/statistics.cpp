// Variance, norms, log-sum-exp.
#include <array>
#include <cmath>

#include "codegen/loops/lowerings/families.h"
#include "codegen/loops/lowerings/row.h"

namespace triptych::loops {
namespace {

// Rows longer than this are read once, by Welford's recurrence; shorter ones stay in a cache and
// are read twice.
constexpr std::int64_t kLongestTwicePassedRow = 1 << 13;

bool reads_once(const Row& row) {
  const auto count = row.count().as_constant();
  return row.reduced_loops() == 1 && (!count || *count > kLongestTwicePassedRow);
}

Moments welford(Builder& builder, const Row& row, ValueId self, DType compute) {
  const int before = builder.open_count();
  const std::vector<SymExpr> index = open_pass(builder, row);
  const Builder::Reduce reduce{ReduceOp::kWelford, builder.load_as(self, index, compute)};
  const std::vector<ScalarId> found = close_pass(builder, before, std::span(&reduce, 1));
  return {found[0], found[1]};
}

// max(0, count - correction), the divisor of the sum of squares.
Result<ScalarId> degrees_of_freedom(LoweringContext& context, const SymExpr& count, DType dtype) {
  Builder& builder = context.builder;
  double correction = 1;
  if (context.given("correction")) correction = context.number("correction");
  if (context.given("unbiased")) correction = context.boolean("unbiased") ? 1 : 0;
  if (const auto constant = count.as_constant()) {
    return builder.constant(dtype, std::max(0.0, static_cast<double>(*constant) - correction));
  }
  const ScalarId left = builder.binary(ScalarOp::kSub, count_scalar(builder, count, dtype),
                                       builder.constant(dtype, correction));
  return builder.binary(ScalarOp::kMax, left, builder.constant(dtype, 0));
}

// |x| as a summand of the norm of this order.
ScalarId summand(Builder& builder, ScalarId x, double order) {
  const DType dtype = builder.dtype(x);
  if (order == 2) return builder.binary(ScalarOp::kMul, x, x);
  const ScalarId magnitude = builder.unary(ScalarOp::kAbs, x);
  if (order == 0) {
    const ScalarId nonzero = builder.binary(ScalarOp::kNe, x, builder.constant(dtype, 0));
    return builder.cast(nonzero, dtype);
  }
  if (order == 1 || std::isinf(order)) return magnitude;
  return builder.binary(ScalarOp::kPow, magnitude, builder.constant(dtype, order));
}

ScalarId norm_of_sum(Builder& builder, ScalarId sum, double order) {
  if (order == 2) return builder.unary(ScalarOp::kSqrt, sum);
  if (order == 0 || order == 1 || std::isinf(order)) return sum;
  return builder.binary(ScalarOp::kPow, sum, builder.constant(builder.dtype(sum), 1 / order));
}

// var and var_mean, or the square root of the variance.
Status lower_spread(LoweringContext& context, bool deviation) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.type(self).dtype);
  Row row = row_of_arguments(context, self);
  open_rows(builder, row);
  const Moments found = reads_once(row)
                            ? welford(builder, row, self, compute)
                            : moments(builder, row, compute, [&](std::span<const SymExpr> index) {
                                return builder.load_as(self, index, compute);
                              });
  TRIPTYCH_TRY(const ScalarId divisor, degrees_of_freedom(context, row.count(), compute));
  ScalarId spread = builder.binary(ScalarOp::kDiv, found.squares, divisor);
  if (deviation) spread = builder.unary(ScalarOp::kSqrt, spread);
  if (context.used(0)) builder.store(context.result(0), row.result_index(), spread);
  if (context.used(1)) builder.store(context.result(1), row.result_index(), found.mean);
  return Unit{};
}

}  // namespace

Status lower_variance(LoweringContext& context) { return lower_spread(context, false); }
Status lower_deviation(LoweringContext& context) { return lower_spread(context, true); }

Status lower_vector_norm(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const char* name = context.find_arg("ord") != nullptr ? "ord" : "p";
  const double order = context.given(name) ? context.number(name) : 2;
  const DType compute = arithmetic_dtype(context.result_type().dtype);
  Row row = row_of_arguments(context, self);
  open_rows(builder, row);
  ReduceOp op = ReduceOp::kSum;
  if (std::isinf(order)) op = order > 0 ? ReduceOp::kMax : ReduceOp::kMin;
  const ScalarId sum = reduce_pass(builder, row, op, [&](std::span<const SymExpr> index) {
    return summand(builder, builder.load_as(self, index, compute), order);
  });
  builder.store(context.result(), row.result_index(), norm_of_sum(builder, sum, order));
  return Unit{};
}

// m + log(sum(exp(x - m))), with m = 0 where the maximum is infinite.
Status lower_logsumexp(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.result_type().dtype);
  Row row = row_of_arguments(context, self);
  open_rows(builder, row);
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(self, index, compute);
  };
  const ScalarId maximum = reduce_pass(builder, row, ReduceOp::kMax, element);
  const ScalarId shift = builder.select(builder.unary(ScalarOp::kIsInf, maximum),
                                        builder.constant(compute, 0), maximum);
  const ScalarId sum =
      reduce_pass(builder, row, ReduceOp::kSum, [&](std::span<const SymExpr> index) {
        return builder.unary(ScalarOp::kExp, builder.binary(ScalarOp::kSub, element(index), shift));
      });
  const ScalarId result = builder.binary(ScalarOp::kAdd, builder.unary(ScalarOp::kLog, sum), shift);
  builder.store(context.result(), row.result_index(), result);
  return Unit{};
}

}  // namespace triptych::loops
