// Rules of pointwise ops. The names say how the result's dtype is found; sizes, strides and device
// are always TensorIterator's over the tensor arguments in order.
#include <c10/core/WrapDimMinimal.h>

#include "normalize/bool_minus.h"
#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

using c10::isIntegralType;

at::ScalarType int_to_float(at::ScalarType dtype) {
  return isIntegralType(dtype, /*includeBool=*/true) ? default_dtype() : dtype;
}

// Tensors promote.
void pointwise(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  const at::ScalarType dtype = promoted(operands);
  ctx.add_result(elementwise(operands, dtype, {dtype}));
}

void pointwise_int_to_float(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  const at::ScalarType dtype = int_to_float(promoted(operands));
  ctx.add_result(elementwise(operands, dtype, {dtype}));
}

// The first tensor argument's dtype, whatever the others are.
void pointwise_first(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  ctx.add_result(elementwise(operands, operands[0]->scalar_type()));
}

// All tensors must have one dtype.
void pointwise_same(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  const at::ScalarType dtype = operands[0]->scalar_type();
  for (const at::Tensor* t : operands) {
    TORCH_CHECK(t->scalar_type() == dtype, "Found dtype ", t->scalar_type(), " but expected ",
                dtype);
  }
  ctx.add_result(elementwise(operands, dtype));
}

at::ScalarType promoted_with_number(const RuleContext& ctx, std::size_t first_number,
                                    std::size_t last_number) {
  Promotion promotion;
  for (std::size_t i = 0; i < ctx.num_args(); ++i) {
    if (ctx.has_tensor(i)) promotion.add(ctx.tensor(i));
    if (i >= first_number && i <= last_number && is_number(ctx.arg(i))) {
      promotion.add_number(ctx.arg(i));
    }
  }
  return promotion.result();
}

// Comparisons and tests: bool.
void pointwise_bool(RuleContext& ctx) {
  const bool with_number = ctx.num_args() > 1 && is_number(ctx.arg(1));
  const Operands operands = tensor_operands(ctx);
  const at::ScalarType common = with_number ? promoted_with_number(ctx, 0, 1) : promoted(operands);
  ctx.add_result(elementwise(operands, at::kBool, {common, with_number}));
}

// The Scalar among the first two arguments promotes with the tensor: aten.add.Scalar, pow.Scalar.
void pointwise_number(RuleContext& ctx) {
  const at::ScalarType dtype = promoted_with_number(ctx, 0, 1);
  ctx.add_result(elementwise(tensor_operands(ctx), dtype, {dtype, true}));
}

// The same over the tensor alone: pow.Tensor_Scalar.
void pointwise_exponent(RuleContext& ctx) {
  const c10::IValue& exponent = ctx.arg(1);
  const bool integers = c10::isIntegralType(ctx.tensor(0).scalar_type(), /*includeBool=*/true) &&
                        (exponent.isInt() || exponent.isSymInt());
  TORCH_CHECK(!integers || !(as_symint(exponent) < 0),
              "Integers to negative integer powers are not allowed.");
  ctx.add_result(elementwise(tensor_operands(ctx), promoted_with_number(ctx, 0, 1)));
}

void pointwise_number_int_to_float(RuleContext& ctx) {
  const at::ScalarType dtype = int_to_float(promoted_with_number(ctx, 0, 1));
  ctx.add_result(elementwise(tensor_operands(ctx), dtype, {dtype, true}));
}

// Every Scalar promotes: clamp.
void pointwise_numbers(RuleContext& ctx) {
  ctx.add_result(elementwise(tensor_operands(ctx), promoted_with_number(ctx, 1, 2)));
}

void check_alpha(const RuleContext& ctx, at::ScalarType dtype) {
  const c10::IValue& alpha = named(ctx, "alpha");
  TORCH_CHECK(!alpha.isBool() || dtype == at::kBool,
              "Boolean alpha only supported for Boolean results.");
  TORCH_CHECK(c10::isFloatingType(dtype) || c10::isComplexType(dtype) || !alpha.isDouble(),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TORCH_CHECK(c10::isComplexType(dtype) || !alpha.isComplexDouble(),
              "For non-complex input tensors, argument alpha must not be a complex number.");
}

void pointwise_add(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  const at::ScalarType dtype =
      operands.size() == 2 ? promoted(operands) : promoted_with_number(ctx, 0, 1);
  ResultMeta result = elementwise(operands, dtype, {dtype, operands.size() == 1});
  check_alpha(ctx, dtype);
  ctx.add_result(std::move(result));
}

void pointwise_sub(RuleContext& ctx) {
  const auto is_bool = [&](std::size_t i) {
    return ctx.has_tensor(i) ? ctx.tensor(i).scalar_type() == at::kBool : ctx.arg(i).isBool();
  };
  check_minus(!is_bool(0) || !is_bool(1),
              "Subtraction, the `-` operator, with two bool tensors is not supported. "
              "Use the `^` or `logical_xor()` operator instead.");
  check_minus(!is_bool(0) && !is_bool(1),
              "Subtraction, the `-` operator, with a bool tensor is not supported. "
              "If you are trying to invert a mask, use the `~` or `logical_not()` operator "
              "instead.");
  pointwise_add(ctx);
}

void pointwise_neg(RuleContext& ctx) {
  check_minus(ctx.tensor(0).scalar_type() != at::kBool,
              "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
              "invert a mask, use the `~` or `logical_not()` operator instead.");
  pointwise(ctx);
}

// aten.div.*_mode: true division gives floats, the rounded ones promote.
void pointwise_div_mode(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  const at::ScalarType dtype =
      operands.size() == 2 ? promoted(operands) : promoted_with_number(ctx, 0, 1);
  const bool rounds = !named(ctx, "rounding_mode").isNone();
  const at::ScalarType result = rounds ? dtype : int_to_float(dtype);
  ctx.add_result(elementwise(operands, result, {result, operands.size() == 1}));
}

void pointwise_where(RuleContext& ctx) {
  const at::ScalarType condition = ctx.tensor(0).scalar_type();
  TORCH_CHECK(condition == at::kBool || condition == at::kByte,
              "where expected condition to be a boolean tensor, but got a tensor with dtype ",
              condition);
  const Operands values{&ctx.tensor(1), &ctx.tensor(2)};
  const at::ScalarType dtype = promoted(values);
  ResultMeta result = elementwise(tensor_operands(ctx), dtype);
  if (values[0]->scalar_type() != dtype || values[1]->scalar_type() != dtype) {
    // The values, but not the condition, are converted first.
    c10::SmallVector<Layout, 4> layouts{{sizes_of(ctx.tensor(0)), strides_of(ctx.tensor(0))}};
    bool same_shape = true;
    for (const at::Tensor* t : values) {
      layouts.push_back({sizes_of(*t), t->scalar_type() == dtype
                                           ? strides_of(*t)
                                           : strides_like(*t, at::MemoryFormat::Preserve)});
    }
    for (const Layout& layout : layouts)
      same_shape = same_shape && equal(layout.sizes, result.sizes);
    const auto dense = same_shape ? dense_strides(layouts, result.sizes) : std::nullopt;
    result.strides = dense ? *dense : iterator_strides(layouts, result.sizes);
  }
  ctx.add_result(std::move(result));
}

// aten.lerp: the three are of one dtype, but for a weight of one number.
void pointwise_lerp(RuleContext& ctx) {
  TORCH_CHECK(ctx.tensor(0).scalar_type() == ctx.tensor(1).scalar_type(), "expected dtype ",
              ctx.tensor(0).scalar_type(), " for `end` but got dtype ",
              ctx.tensor(1).scalar_type());
  if (ctx.has_tensor(2) && ctx.tensor(2).dim() > 0) {
    TORCH_CHECK(ctx.tensor(0).scalar_type() == ctx.tensor(2).scalar_type(), "expected dtype ",
                ctx.tensor(0).scalar_type(), " for `weight` but got dtype ",
                ctx.tensor(2).scalar_type());
  }
  pointwise(ctx);
}

// The result is contiguous whatever the operands' strides.
void pointwise_contiguous_first(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  ResultMeta result = elementwise(operands, operands[0]->scalar_type());
  result.strides = contiguous_strides(result.sizes);
  ctx.add_result(std::move(result));
}

// aten.isin: the shape of its first operand.
void pointwise_isin(RuleContext& ctx) {
  const bool tensor_elements = ctx.has_tensor(0);
  const at::Tensor& device_from = ctx.tensor(tensor_elements ? 0 : 1);
  Sizes sizes = tensor_elements ? sizes_of(ctx.tensor(0)) : Sizes();
  ctx.add_result(fresh(std::move(sizes), at::kBool, device_from.device()));
}

// Ops that write into an empty_like of their first argument.
ResultMeta like_first(const RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta result;
  result.sizes = sizes_of(self);
  result.strides = strides_like(self, at::MemoryFormat::Preserve);
  result.dtype = self.scalar_type();
  result.device = self.device();
  return result;
}

void pointwise_like(RuleContext& ctx) { ctx.add_result(like_first(ctx)); }

// Complex gives its real type, in an empty_like.
void pointwise_real(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  if (!self.is_complex()) return pointwise(ctx);
  ctx.add_result(like_first(ctx));
  ctx.results()[0].dtype = c10::toRealValueType(self.scalar_type());
}

// Eager computes a complex tensor's angles into an empty tensor that it resizes.
void pointwise_angle(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  if (!self.is_complex()) return pointwise_int_to_float(ctx);
  ctx.add_result(fresh(sizes_of(self), c10::toRealValueType(self.scalar_type()), self.device()));
}

// aten.frexp: mantissa and int32 exponent.
void pointwise_frexp(RuleContext& ctx) {
  ctx.add_result(like_first(ctx));
  ctx.add_result(like_first(ctx));
  ctx.results()[1].dtype = at::kInt;
}

// aten.complex, polar: two reals make one complex.
void pointwise_to_complex(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  ctx.add_result(elementwise(operands, c10::toComplexType(operands[0]->scalar_type())));
}

// aten.glu: the product of one half with the sigmoid of the other.
void glu(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  TORCH_CHECK(is_value(self.sym_size(dim) % 2, 0), "Halving dimension must be even, but dimension ",
              dim, " is size ", self.sym_size(dim));
  Layout half{sizes_of(self), strides_of(self)};
  half.sizes[dim] = half.sizes[dim] / 2;
  ResultMeta result = fresh_like(half.sizes, self);
  const auto dense = dense_strides(half, half.sizes);
  result.strides = dense ? *dense : iterator_strides({half, half}, half.sizes);
  ctx.add_result(std::move(result));
}

// An in-place op gives back its first argument.
void in_place(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta result;
  result.sizes = sizes_of(self);
  result.strides = strides_of(self);
  result.storage_offset = self.sym_storage_offset();
  result.dtype = self.scalar_type();
  result.device = self.device();
  result.alias_of = 0;
  ctx.add_result(std::move(result));
}

constexpr NamedRule kRules[] = {
    {"glu", glu},
    {"in_place", in_place},
    {"pointwise", pointwise},
    {"pointwise_add", pointwise_add},
    {"pointwise_angle", pointwise_angle},
    {"pointwise_bool", pointwise_bool},
    {"pointwise_contiguous_first", pointwise_contiguous_first},
    {"pointwise_div_mode", pointwise_div_mode},
    {"pointwise_exponent", pointwise_exponent},
    {"pointwise_first", pointwise_first},
    {"pointwise_frexp", pointwise_frexp},
    {"pointwise_int_to_float", pointwise_int_to_float},
    {"pointwise_isin", pointwise_isin},
    {"pointwise_lerp", pointwise_lerp},
    {"pointwise_like", pointwise_like},
    {"pointwise_neg", pointwise_neg},
    {"pointwise_number", pointwise_number},
    {"pointwise_number_int_to_float", pointwise_number_int_to_float},
    {"pointwise_numbers", pointwise_numbers},
    {"pointwise_real", pointwise_real},
    {"pointwise_same", pointwise_same},
    {"pointwise_sub", pointwise_sub},
    {"pointwise_to_complex", pointwise_to_complex},
    {"pointwise_where", pointwise_where},
};

}  // namespace

std::span<const NamedRule> pointwise_rules() { return kRules; }

}  // namespace triptych::normalize
