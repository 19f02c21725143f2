// Tensors made from no tensor.
#include <array>
#include <cmath>

#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
namespace {

// A literal or symbolic number as a scalar of `dtype`; nullopt for what is no real number or does
// not fit.
std::optional<ScalarId> literal(LoweringContext& context, const ir::Argument& argument,
                                DType dtype) {
  Builder& builder = context.builder;
  if (const auto* truth = argument.get_if<bool>())
    return builder.constant_int(dtype, *truth ? 1 : 0);
  if (const auto* integer = argument.get_if<std::int64_t>())
    return builder.constant_int(dtype, *integer);
  if (const auto* size = argument.get_if<SymExpr>())
    return builder.cast(builder.index_value(*size), dtype);
  if (const auto* id = argument.get_if<ValueId>()) {
    const auto* scalar = std::get_if<ir::ScalarValueType>(&context.graph.value(*id).type);
    if (scalar == nullptr || !scalar->expr) return std::nullopt;
    return builder.cast(builder.index_value(*scalar->expr), dtype);
  }
  const auto* number = argument.get_if<double>();
  if (number == nullptr) return std::nullopt;
  const bool fits = *number >= -0x1p63 && *number < 0x1p63;
  if (ir::is_integral(dtype, false) && !fits) return std::nullopt;
  return builder.constant(dtype, *number);
}

Status fill(LoweringContext& context, std::int64_t value) {
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  builder.store(context.result(), index, builder.constant_int(context.result_type().dtype, value));
  return Unit{};
}

// Elements of the last two dims on one side of a diagonal, 0 elsewhere. `keeps` compares column -
// row with the diagonal.
Status lower_triangle(LoweringContext& context, ScalarOp keeps) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const DType dtype = context.result_type().dtype;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const std::size_t rank = index.size();
  const ScalarId above = builder.index_value(index[rank - 1] - index[rank - 2]);
  const ScalarId diagonal = builder.index_value(context.sizes("diagonal").at(0));
  const ScalarId keep = builder.binary(keeps, above, diagonal);
  const DType compute = arithmetic_dtype(dtype);
  const ScalarId value = builder.load_as(self, index, compute);
  builder.store(context.result(), index,
                builder.select(keep, value, builder.constant_int(compute, 0)));
  return Unit{};
}

}  // namespace

// full and its kin: the argument that says the value.
Status lower_full(LoweringContext& context) {
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const DType dtype = context.result_type().dtype;
  std::optional<ScalarId> value;
  for (const std::string_view name : {"fill_value", "s"}) {
    if (context.given(name)) value = literal(context, context.arg(name), dtype);
  }
  if (!value) return not_lowered("a fill value that is no real number");
  builder.store(context.result(), index, *value);
  return Unit{};
}

// arange: start + i * step, in the accumulation type of eager (f64 for floats... see the numerics
// page).
Status lower_arange(LoweringContext& context) {
  Builder& builder = context.builder;
  const DType dtype = context.result_type().dtype;
  const DType compute = ir::is_floating(dtype) ? DType::kF64 : DType::kI64;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const auto number = [&](std::string_view name,
                          std::int64_t otherwise) -> std::optional<ScalarId> {
    if (!context.given(name)) return builder.constant_int(compute, otherwise);
    return literal(context, context.arg(name), compute);
  };
  const auto start = number("start", 0);
  const auto step = number("step", 1);
  if (!start || !step) return not_lowered("a bound that is no real number");
  const ScalarId position = builder.cast(builder.index_value(index[0]), compute);
  const ScalarId offset = builder.binary(ScalarOp::kMul, position, *step);
  builder.store(context.result(), index, builder.binary(ScalarOp::kAdd, *start, offset));
  return Unit{};
}

Status lower_zeros(LoweringContext& context) { return fill(context, 0); }
Status lower_ones(LoweringContext& context) { return fill(context, 1); }
Status lower_tril(LoweringContext& context) { return lower_triangle(context, ScalarOp::kLe); }
Status lower_triu(LoweringContext& context) { return lower_triangle(context, ScalarOp::kGe); }

}  // namespace triptych::loops
