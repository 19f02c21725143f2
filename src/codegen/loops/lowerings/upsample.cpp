// Resampling of the last dims of [N, C, ...] by nearest neighbour or bilinearly, with eager's
// arithmetic.
#include <array>
#include <bit>

#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
namespace {

// The op's scale for spatial dim `i`: from `scales` (one number), `scales_h`, ..., or the list
// `scale_factors`.
std::optional<double> given_scale(const LoweringContext& context, std::size_t i,
                                  std::size_t spatial) {
  constexpr std::array<std::array<std::string_view, 3>, 3> kNames = {
      {{"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}}};
  const std::string_view name = kNames[spatial - 1][i];
  if (context.given(name)) return context.number(name);
  if (!context.given("scale_factors")) return std::nullopt;
  const auto& list = context.arg("scale_factors").get<ir::ArgumentList>().items;
  const auto* number = list.at(i).get_if<double>();
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

struct Spatial {
  std::int64_t input = 0, output = 0;
  std::optional<double> scale;
};

struct Resampling {
  ValueId input;
  std::size_t spatial = 0;
  std::vector<Spatial> dims;
};

Result<Resampling> resampling(LoweringContext& context) {
  Resampling r;
  r.input = context.tensor_arg(context.find_arg("self") != nullptr ? "self" : "input");
  const ir::TensorType& type = context.type(r.input);
  if (type.sizes.size() < 3 || type.sizes.size() > 5)
    return not_lowered("a rank that is not 3 to 5");
  if (!ir::is_floating(type.dtype)) return not_lowered("resampling of integers");
  r.spatial = type.sizes.size() - 2;
  for (std::size_t i = 0; i < r.spatial; ++i) {
    const auto input = type.sizes[i + 2].as_constant();
    const auto output = context.result_type().sizes[i + 2].as_constant();
    if (!input || !output) return not_lowered("symbolic sizes");
    r.dims.push_back({*input, *output, given_scale(context, i, r.spatial)});
  }
  return r;
}

// Eager's ratio in its own arithmetic type: float for everything but double.
double ratio(const Spatial& dim, DType compute) {
  const bool scaled = dim.scale && *dim.scale > 0;
  if (compute == DType::kF64) {
    return scaled ? 1.0 / *dim.scale
                  : static_cast<double>(dim.input) / static_cast<double>(dim.output);
  }
  return scaled ? static_cast<float>(1.0 / *dim.scale)
                : static_cast<float>(dim.input) / static_cast<float>(dim.output);
}

// An i64 scalar limited to [0, size - 1], as an index.
SymExpr limited(Builder& builder, ScalarId position, std::int64_t size) {
  const ScalarId low =
      builder.binary(ScalarOp::kMax, position, builder.constant_int(DType::kI64, 0));
  const ScalarId high =
      builder.binary(ScalarOp::kMin, low, builder.constant_int(DType::kI64, size - 1));
  return builder.index_symbol(high);
}

SymExpr nearest(Builder& builder, const SymExpr& index, const Spatial& dim, DType compute,
                bool exact) {
  if (dim.input == 1) return SymExpr(0);
  if (dim.input == dim.output && !dim.scale) return index;
  // A power of two divides without rounding: floor(i / 2^k) is index arithmetic (also for (i + 0.5)
  // / 2^k).
  const std::int64_t factor = dim.output / dim.input;
  const bool whole = factor * dim.input == dim.output &&
                     std::has_single_bit(static_cast<std::uint64_t>(factor)) &&
                     (!dim.scale || *dim.scale == static_cast<double>(factor));
  if (whole) return floordiv(index, SymExpr(factor));
  ScalarId position = builder.cast(builder.index_value(index), compute);
  if (exact) position = builder.binary(ScalarOp::kAdd, position, builder.constant(compute, 0.5));
  position =
      builder.binary(ScalarOp::kMul, position, builder.constant(compute, ratio(dim, compute)));
  position = builder.unary(ScalarOp::kFloor, builder.cast(position, DType::kF32));
  return limited(builder, builder.cast(position, DType::kI64), dim.input);
}

// The two neighbours along one dim and the weight of the second.
struct Neighbours {
  SymExpr first, second;
  std::optional<ScalarId> weight;  // none: only `first` counts
};

Neighbours neighbours(Builder& builder, const SymExpr& index, const Spatial& dim, DType compute,
                      bool align_corners) {
  if (dim.input == 1 && dim.output == 1) return {SymExpr(0), SymExpr(0), std::nullopt};
  if (dim.input == dim.output) return {index, index, std::nullopt};
  ScalarId position = builder.cast(builder.index_value(index), compute);
  if (align_corners) {
    const double step =
        dim.output > 1 ? static_cast<double>(dim.input - 1) / static_cast<double>(dim.output - 1)
                       : 0;
    position = builder.binary(ScalarOp::kMul, position, builder.constant(compute, step));
  } else {
    const ScalarId half = builder.constant(compute, 0.5);
    position = builder.binary(ScalarOp::kAdd, position, half);
    position =
        builder.binary(ScalarOp::kMul, position, builder.constant(compute, ratio(dim, compute)));
    position = builder.binary(ScalarOp::kSub, position, half);
    position = builder.binary(ScalarOp::kMax, position, builder.constant(compute, 0));
  }
  const ScalarId whole = builder.cast(position, DType::kI64);
  const ScalarId next = builder.binary(ScalarOp::kAdd, whole, builder.constant_int(DType::kI64, 1));
  ScalarId weight = builder.binary(ScalarOp::kSub, position, builder.cast(whole, compute));
  weight = builder.binary(ScalarOp::kMax, weight, builder.constant(compute, 0));
  weight = builder.binary(ScalarOp::kMin, weight, builder.constant(compute, 1));
  return {limited(builder, whole, dim.input), limited(builder, next, dim.input), weight};
}

// a * (1 - weight) + b * weight
ScalarId mix(Builder& builder, ScalarId a, ScalarId b, const std::optional<ScalarId>& weight) {
  if (!weight) return a;
  const ScalarId one = builder.constant(builder.dtype(a), 1);
  const ScalarId left =
      builder.binary(ScalarOp::kMul, a, builder.binary(ScalarOp::kSub, one, *weight));
  return builder.binary(ScalarOp::kAdd, left, builder.binary(ScalarOp::kMul, b, *weight));
}

// `exact` samples at the middle of each output element, the other kind at its start.
Status resample_nearest(LoweringContext& context, bool exact) {
  TRIPTYCH_TRY(const Resampling r, resampling(context));
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.type(r.input).dtype);
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  std::vector<SymExpr> source = index;
  for (std::size_t i = 0; i < r.spatial; ++i) {
    source[i + 2] = nearest(builder, index[i + 2], r.dims[i], compute, exact);
  }
  builder.store(context.result(), index, builder.load(r.input, source));
  return Unit{};
}

}  // namespace

Status lower_upsample_nearest(LoweringContext& context) { return resample_nearest(context, false); }
Status lower_upsample_nearest_exact(LoweringContext& context) {
  return resample_nearest(context, true);
}

Status lower_upsample_bilinear2d(LoweringContext& context) {
  TRIPTYCH_TRY(const Resampling r, resampling(context));
  if (r.spatial != 2) return not_lowered("bilinear resampling of other than two dims");
  Builder& builder = context.builder;
  const DType compute = arithmetic_dtype(context.type(r.input).dtype);
  const bool align_corners = context.boolean("align_corners");
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const Neighbours y = neighbours(builder, index[2], r.dims[0], compute, align_corners);
  const Neighbours x = neighbours(builder, index[3], r.dims[1], compute, align_corners);
  const auto at = [&](const SymExpr& row, const SymExpr& column) {
    const std::array source = {index[0], index[1], row, column};
    return builder.load_as(r.input, source, compute);
  };
  const ScalarId top = mix(builder, at(y.first, x.first), at(y.first, x.second), x.weight);
  const ScalarId bottom = mix(builder, at(y.second, x.first), at(y.second, x.second), x.weight);
  builder.store(context.result(), index, mix(builder, top, bottom, y.weight));
  return Unit{};
}

}  // namespace triptych::loops
