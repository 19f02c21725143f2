// Layer, RMS and group normalization: mean, centred sum of squares, result, as passes over one row.
#include "codegen/loops/lowerings/families.h"
#include "codegen/loops/lowerings/row.h"

namespace triptych::loops {
namespace {

// 1 / sqrt(squares / count + eps)
ScalarId reciprocal_deviation(Builder& builder, ScalarId squares, const SymExpr& count,
                              double eps) {
  const DType dtype = builder.dtype(squares);
  const ScalarId variance =
      builder.binary(ScalarOp::kDiv, squares, count_scalar(builder, count, dtype));
  const ScalarId shifted = builder.binary(ScalarOp::kAdd, variance, builder.constant(dtype, eps));
  return builder.unary(ScalarOp::kRsqrt, shifted);
}

// value * weight[index] + bias[index], each where given.
ScalarId affine(LoweringContext& context, ScalarId value, std::span<const SymExpr> index) {
  Builder& builder = context.builder;
  const DType dtype = builder.dtype(value);
  if (const auto weight = context.tensor("weight")) {
    value = builder.binary(ScalarOp::kMul, value, builder.load_as(*weight, index, dtype));
  }
  if (const auto bias = context.tensor("bias")) {
    value = builder.binary(ScalarOp::kAdd, value, builder.load_as(*bias, index, dtype));
  }
  return value;
}

Row normalized_row(LoweringContext& context, ValueId input) {
  const std::size_t rank = context.rank(input);
  const std::size_t count = context.sizes("normalized_shape").size();
  std::vector<std::size_t> dims;
  for (std::size_t d = rank - count; d < rank; ++d) dims.push_back(d);
  return row_of_dims(context, input, dims, true);
}

// The last dims of a full index: where weight and bias are read.
std::span<const SymExpr> last(std::span<const SymExpr> index, std::size_t count) {
  return index.subspan(index.size() - count);
}

}  // namespace

Status lower_layer_norm(LoweringContext& context) {
  const ValueId input = context.tensor_arg("input");
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.type(input).dtype);
  const std::size_t normalized = context.sizes("normalized_shape").size();
  Row row = normalized_row(context, input);
  open_rows(builder, row);
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(input, index, compute);
  };
  const Moments found = moments(builder, row, compute, element);
  const ScalarId rstd =
      reciprocal_deviation(builder, found.squares, row.count(), context.number("eps"));
  if (context.used(1)) builder.store(context.result(1), row.result_index(), found.mean);
  if (context.used(2)) builder.store(context.result(2), row.result_index(), rstd);
  if (!context.used(0)) return Unit{};
  const std::vector<SymExpr> index = open_pass(builder, row);
  const ScalarId centred = builder.binary(ScalarOp::kSub, element(index), found.mean);
  const ScalarId scaled = builder.binary(ScalarOp::kMul, centred, rstd);
  builder.store(context.result(0), index, affine(context, scaled, last(index, normalized)));
  return Unit{};
}

Status lower_rms_norm(LoweringContext& context) {
  const ValueId input = context.tensor_arg("input");
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.type(input).dtype);
  const double epsilon =
      compute == DType::kF64 ? 0x1p-52 : 0x1p-23;  // of the dtype that eager computes in
  const std::size_t normalized = context.sizes("normalized_shape").size();
  Row row = normalized_row(context, input);
  open_rows(builder, row);
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(input, index, compute);
  };
  const ScalarId squares =
      reduce_pass(builder, row, ReduceOp::kSum, [&](std::span<const SymExpr> index) {
        const ScalarId value = element(index);
        return builder.binary(ScalarOp::kMul, value, value);
      });
  const double eps = context.given("eps") ? context.number("eps") : epsilon;
  const ScalarId rstd = reciprocal_deviation(builder, squares, row.count(), eps);
  if (context.used(1)) builder.store(context.result(1), row.result_index(), rstd);
  if (!context.used(0)) return Unit{};
  const std::vector<SymExpr> index = open_pass(builder, row);
  const ScalarId scaled = builder.binary(ScalarOp::kMul, element(index), rstd);
  builder.store(context.result(0), index, affine(context, scaled, last(index, normalized)));
  return Unit{};
}

// Group g of image n is the row of channels [g * C / G, (g + 1) * C / G) and all positions.
Status lower_group_norm(LoweringContext& context) {
  const ValueId input = context.tensor_arg("input");
  Builder& builder = context.builder;
  const ir::TensorType& type = context.type(input);
  const DType compute = arithmetic_dtype(type.dtype);
  const SymExpr groups(context.integer("group"));
  const SymExpr channels = floordiv(type.sizes[1], groups);
  // The row's space: batch, group, channel in group, positions.
  Row row;
  row.sizes = {type.sizes[0], groups, channels};
  row.sizes.insert(row.sizes.end(), type.sizes.begin() + 2, type.sizes.end());
  row.reduced.assign(row.sizes.size(), true);
  row.reduced[0] = row.reduced[1] = false;
  open_rows(builder, row);
  const auto input_index = [&](std::span<const SymExpr> index) {
    std::vector<SymExpr> at = {index[0], index[1] * channels + index[2]};
    at.insert(at.end(), index.begin() + 3, index.end());
    return at;
  };
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(input, input_index(index), compute);
  };
  const Moments found = moments(builder, row, compute, element);
  const ScalarId rstd =
      reciprocal_deviation(builder, found.squares, row.count(), context.number("eps"));
  const std::array at = {row.outer[0], row.outer[1]};
  if (context.used(1)) builder.store(context.result(1), at, found.mean);
  if (context.used(2)) builder.store(context.result(2), at, rstd);
  if (!context.used(0)) return Unit{};
  const std::vector<SymExpr> index = open_pass(builder, row);
  const std::vector<SymExpr> full = input_index(index);
  const ScalarId centred = builder.binary(ScalarOp::kSub, element(index), found.mean);
  const ScalarId scaled = builder.binary(ScalarOp::kMul, centred, rstd);
  builder.store(context.result(0), full, affine(context, scaled, std::span(full).subspan(1, 1)));
  return Unit{};
}

}  // namespace triptych::loops
