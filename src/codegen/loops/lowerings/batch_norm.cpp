// Batch normalization over channels (dim 1): in inference a pointwise affine map, in training
// statistics of each channel's row first.
#include <array>

#include "codegen/loops/lowerings/families.h"
#include "codegen/loops/lowerings/row.h"

namespace triptych::loops {
namespace {

struct Channel {
  ScalarId mean, rstd;
};

// out = x * alpha + beta with alpha = weight * rstd, beta = bias - mean * alpha, as eager computes
// it.
ScalarId normalize(LoweringContext& context, ScalarId x, const Channel& channel, const SymExpr& c) {
  Builder& builder = context.builder;
  const DType dtype = builder.dtype(x);
  const std::array at = {c};
  ScalarId alpha = channel.rstd;
  if (const auto weight = context.tensor("weight")) {
    alpha = builder.binary(ScalarOp::kMul, alpha, builder.load_as(*weight, at, dtype));
  }
  const ScalarId shift = builder.binary(ScalarOp::kMul, channel.mean, alpha);
  ScalarId beta = builder.unary(ScalarOp::kNeg, shift);
  if (const auto bias = context.tensor("bias")) {
    beta = builder.binary(ScalarOp::kSub, builder.load_as(*bias, at, dtype), shift);
  }
  return builder.binary(ScalarOp::kAdd, builder.binary(ScalarOp::kMul, x, alpha), beta);
}

ScalarId rsqrt_shifted(Builder& builder, ScalarId variance, double eps) {
  const ScalarId shifted =
      builder.binary(ScalarOp::kAdd, variance, builder.constant(builder.dtype(variance), eps));
  return builder.unary(ScalarOp::kRsqrt, shifted);
}

// Results 1 and on that have no elements (inference): a loop that never runs stands for them.
void store_empty_results(LoweringContext& context) {
  Builder& builder = context.builder;
  for (std::size_t i = 1; i < context.node.results.size(); ++i) {
    if (!context.used(i)) continue;
    const std::vector<SymExpr> index = builder.open_loops(context.result_type(i).sizes);
    builder.store(context.result(i), index, builder.constant(context.result_type(i).dtype, 0));
    builder.close_loops();
  }
}

bool all_empty(const LoweringContext& context) {
  for (std::size_t i = 1; i < context.node.results.size(); ++i) {
    if (element_extent(context.result_type(i)).as_constant() != 0) return false;
  }
  return true;
}

// running + momentum * (new - running), as eager: momentum * new + (1 - momentum) * running.
void store_running(LoweringContext& context, std::size_t result, std::string_view name,
                   ScalarId fresh, std::span<const SymExpr> at) {
  if (!context.used(result)) return;
  Builder& builder = context.builder;
  const DType dtype = builder.dtype(fresh);
  const double momentum = context.number("momentum");
  const ScalarId old = builder.load_as(context.tensor_arg(name), at, dtype);
  const ScalarId kept = builder.binary(ScalarOp::kMul, builder.constant(dtype, 1 - momentum), old);
  const ScalarId added = builder.binary(ScalarOp::kMul, builder.constant(dtype, momentum), fresh);
  builder.store(context.result(result), at, builder.binary(ScalarOp::kAdd, added, kept));
}

Status training(LoweringContext& context) {
  const ValueId input = context.tensor_arg("input");
  Builder& builder = context.builder;
  const std::size_t rank = context.rank(input);
  const DType compute = arithmetic_dtype(context.type(input).dtype);
  std::vector<std::size_t> dims = {0};
  for (std::size_t d = 2; d < rank; ++d) dims.push_back(d);
  Row row = row_of_dims(context, input, dims, false);
  open_rows(builder, row);
  const SymExpr channel = row.outer[1];
  const std::array at = {channel};
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(input, index, compute);
  };
  const Moments found = moments(builder, row, compute, element);
  const ScalarId count = count_scalar(builder, row.count(), compute);
  const ScalarId variance = builder.binary(ScalarOp::kDiv, found.squares, count);
  const ScalarId rstd = rsqrt_shifted(builder, variance, context.number("eps"));
  if (context.used(1)) builder.store(context.result(1), at, found.mean);
  if (context.used(2)) builder.store(context.result(2), at, rstd);
  // Functional variants return the updated running statistics.
  store_running(context, 3, "running_mean", found.mean, at);
  if (context.used(4)) {
    const ScalarId less_one = builder.binary(ScalarOp::kSub, count, builder.constant(compute, 1));
    store_running(context, 4, "running_var",
                  builder.binary(ScalarOp::kDiv, found.squares, less_one), at);
  }
  if (!context.used(0)) return Unit{};
  const std::vector<SymExpr> index = open_pass(builder, row);
  builder.store(context.result(0), index,
                normalize(context, element(index), {found.mean, rstd}, channel));
  return Unit{};
}

}  // namespace

Status lower_batch_norm_inference(LoweringContext& context) {
  if (!all_empty(context)) return not_lowered("inference with statistics among the results");
  store_empty_results(context);
  if (!context.used(0)) return Unit{};
  const ValueId input = context.tensor_arg("input");
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.type(input).dtype);
  const std::vector<SymExpr> index = builder.open_loops(context.type(input).sizes);
  const std::array at = {index[1]};
  const ScalarId mean = builder.load_as(context.tensor_arg("running_mean"), at, compute);
  const ScalarId variance = builder.load_as(context.tensor_arg("running_var"), at, compute);
  const ScalarId rstd = rsqrt_shifted(builder, variance, context.number("eps"));
  const ScalarId x = builder.load_as(input, index, compute);
  builder.store(context.result(0), index, normalize(context, x, {mean, rstd}, index[1]));
  return Unit{};
}

// By the `training` argument.
Status lower_batch_norm(LoweringContext& context) {
  if (context.boolean("training")) {
    // Without results for them the running statistics are updated in place, which no kernel does.
    const bool in_place = context.given("running_mean") && context.node.results.size() < 5;
    if (in_place) return not_lowered("training updates the running statistics in place");
    return training(context);
  }
  if (!context.given("running_mean") || !context.given("running_var")) {
    return not_lowered("inference without running statistics");
  }
  return lower_batch_norm_inference(context);
}

}  // namespace triptych::loops
