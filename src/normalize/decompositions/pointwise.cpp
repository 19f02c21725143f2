// Pointwise ops as their formulas over core ones.
#include <ATen/native/BinaryOps.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <limits>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/number_fits.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

Tensor rsub_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return at::sub(other, self, alpha);
}

// other - alpha self, in the dtype that both have together: a negated uint8 has wrapped around.
Tensor rsub_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  namespace native = at::native;
  native::sub_check(self, other);
  const at::ScalarType dtype = native::result_type(
      native::update_result_type_state(other, native::update_result_type_state(self, {})));
  native::alpha_check(dtype, alpha);
  return at::add(at::mul(at::neg(to_dtype(self, dtype)), as_dtype(alpha, dtype)), other);
}

bool is_one(const Scalar& value) { return value.equal(1); }

// Three operands in the dtype that they have together, upcast.
struct Joint {
  Joint(const Tensor& a, const Tensor& b, const Tensor& c)
      : dtype(at::native::result_type({a, b, c})),
        first(upcast(to_dtype(a, dtype))),
        second(upcast(to_dtype(b, dtype))),
        third(upcast(to_dtype(c, dtype))) {}
  at::ScalarType dtype;
  Tensor first, second, third;
};

// Eager computes with a number in the dtype that 16-bit floats are computed in.
Scalar exact(const Scalar& value, at::ScalarType dtype) {
  return as_dtype(value, at::toOpMathType(dtype));
}

// self + value tensor1 tensor2
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  const Joint joint(self, tensor1, tensor2);
  const Tensor scaled =
      is_one(value) ? joint.second : at::mul(joint.second, exact(value, joint.dtype));
  return to_dtype(at::add(joint.first, at::mul(scaled, joint.third)), joint.dtype);
}

// self + value tensor1 / tensor2
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  TORCH_CHECK(!is_integral(tensor1) || !is_integral(tensor2),
              "Integer division with addcdiv is no longer supported, and in a future  release "
              "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
              "behavior can be implemented as (input + value * torch.trunc(tensor1 / "
              "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
              "tensor2) for float inputs. The future addcdiv behavior is just the latter "
              "implementation: (input + value * tensor1 / tensor2), for all dtypes.");
  const Joint joint(self, tensor1, tensor2);
  const Tensor scaled =
      is_one(value) ? joint.second : at::mul(joint.second, exact(value, joint.dtype));
  return to_dtype(at::add(joint.first, at::div(scaled, joint.third)), joint.dtype);
}

// Interpolated from the nearer end, as eager: |weight| < 0.5 from self, else from end.
Tensor lerp_scalar(const Tensor& self, const Tensor& end, const Scalar& weight) {
  const Tensor a = upcast(self);
  const Tensor b = upcast(end);
  const Tensor span = at::sub(b, a);
  const Tensor out = std::abs(weight.toDouble()) < 0.5
                         ? at::add(a, at::mul(span, weight))
                         : at::sub(b, at::mul(span, 1 - weight.toDouble()));
  return to_dtype(out, self.scalar_type());
}

Tensor lerp_tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  const Joint joint(self, end, weight);
  const Tensor span = at::sub(joint.second, joint.first);
  const Tensor near_start = at::lt(at::abs(joint.third), 0.5);
  const Tensor from_start = at::add(joint.first, at::mul(span, joint.third));
  const Tensor from_end = at::sub(joint.second, at::mul(span, at::add(at::neg(joint.third), 1)));
  return to_dtype(at::where(near_start, from_start, from_end), joint.dtype);
}

// `<<` and `>>` of bools by integers are shifts of integers.
template <class Other>
Tensor shifted(const Tensor& self, const Other& other,
               Tensor (*shift)(const Tensor&, const Other&)) {
  return shift(to_dtype(self, at::result_type(self, other)), other);
}

Tensor lshift_scalar(const Tensor& self, const Scalar& other) {
  return shifted<Scalar>(self, other, at::bitwise_left_shift);
}
Tensor lshift_tensor(const Tensor& self, const Tensor& other) {
  return shifted<Tensor>(self, other, at::bitwise_left_shift);
}
Tensor rshift_scalar(const Tensor& self, const Scalar& other) {
  return shifted<Scalar>(self, other, at::bitwise_right_shift);
}
Tensor rshift_tensor(const Tensor& self, const Tensor& other) {
  return shifted<Tensor>(self, other, at::bitwise_right_shift);
}

Tensor square(const Tensor& self) { return at::mul(self, self); }

// x - trunc(x)
Tensor frac(const Tensor& self) { return at::sub(self, at::trunc(self)); }

Tensor float_of(const Tensor& self) {
  return is_integral(self) ? to_dtype(self, c10::typeMetaToScalarType(c10::get_default_dtype()))
                           : self;
}

// 0 where x is 0 (unless y is NaN), else x log(y)
Tensor times_log(const Tensor& self, const Tensor& other, Tensor (*log)(const Tensor&)) {
  at::ScalarType dtype = at::native::result_type({self, other});
  if (c10::isIntegralType(dtype, true)) dtype = c10::typeMetaToScalarType(c10::get_default_dtype());
  const Tensor x = to_dtype(self, dtype);
  const Tensor y = to_dtype(other, dtype);
  const Tensor product = at::mul(x, log(y));
  const Tensor zero = at::where(at::eq(x, 0), number_like(product, 0), product);
  return at::where(at::isnan(y), number_like(product, std::numeric_limits<double>::quiet_NaN()),
                   zero);
}

Tensor xlogy(const Tensor& self, const Tensor& other) { return times_log(self, other, at::log); }
Tensor xlog1py(const Tensor& self, const Tensor& other) {
  return times_log(self, other, at::log1p);
}

// log(x / (1 - x)), x clamped into [eps, 1 - eps] first
Tensor logit(const Tensor& self, std::optional<double> eps) {
  Tensor x = float_of(self);
  if (eps && !(*eps < 0)) {
    // No clamp: beyond one half the bounds have changed places, and a bound that is NaN bounds
    // nothing.
    const Tensor low = number_like(x, *eps);
    const Tensor high = at::add(at::neg(low), 1);
    x = at::where(at::lt(x, low), low, at::where(at::gt(x, high), high, x));
  }
  return at::log(at::div(x, at::add(at::neg(x), 1)));
}

// sin(pi x) / (pi x), 1 at 0
Tensor sinc(const Tensor& self) {
  const Tensor given = float_of(self);
  const Tensor x = at::mul(upcast(given), 3.14159265358979323846);
  const Tensor out = at::where(at::eq(x, 0), number_like(x, 1), at::div(at::sin(x), x));
  return to_dtype(out, given.scalar_type());
}

Tensor deg2rad(const Tensor& self) { return at::mul(self, 3.14159265358979323846 / 180.0); }
Tensor rad2deg(const Tensor& self) { return at::mul(self, 180.0 / 3.14159265358979323846); }

double lowest(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return -65504.0;
    case at::kBFloat16:
      return -3.3895313892515355e38;
    case at::kFloat:
      return std::numeric_limits<float>::lowest();
    default:
      return std::numeric_limits<double>::lowest();
  }
}

// NaN, +inf and -inf replaced; the largest finite values by default
Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (is_integral(self)) return at::clone(self);
  if (self.is_complex())
    return at::view_as_complex(nan_to_num(at::view_as_real(self), nan, posinf, neginf));
  const double low = lowest(self.scalar_type());
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor out = at::where(at::isnan(self), number_like(self, nan.value_or(0)), self);
  out = at::where(at::eq(self, infinity), number_like(self, posinf.value_or(-low)), out);
  return at::where(at::eq(self, -infinity), number_like(self, neginf.value_or(low)), out);
}

Tensor clamp_min(const Tensor& self, const Scalar& min) { return at::clamp(self, min); }
Tensor clamp_max(const Tensor& self, const Scalar& max) {
  return at::clamp(self, std::nullopt, max);
}
Tensor clamp_min_tensor(const Tensor& self, const Tensor& min) { return at::maximum(self, min); }
Tensor clamp_max_tensor(const Tensor& self, const Tensor& max) { return at::minimum(self, max); }

// 0 below 0, 1 above, the given value at 0
Tensor heaviside(const Tensor& self, const Tensor& values) {
  const Tensor step = to_dtype(at::gt(self, 0), self.scalar_type());
  return at::where(at::eq(self, 0), values, step);
}

Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return at::div(self, other, "floor");
}

Tensor masked_fill_scalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return at::where(mask, number_like(self, value), self).contiguous();
}

// A 0-d value of another dtype must not promote the result. Eager reads it as a number, and refuses
// one that does not fit.
Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  assert_fits(value, self.scalar_type());
  return at::where(mask, to_dtype(value, self.scalar_type()), self).contiguous();
}

// NaN loses against a number, unlike in maximum and minimum.
Tensor fmax(const Tensor& self, const Tensor& other) {
  return at::where(at::logical_or(at::ge(self, other), at::isnan(other)), self, other);
}
Tensor fmin(const Tensor& self, const Tensor& other) {
  return at::where(at::logical_or(at::le(self, other), at::isnan(other)), self, other);
}

Tensor isposinf(const Tensor& self) {
  return at::eq(self, std::numeric_limits<double>::infinity());
}
Tensor isneginf(const Tensor& self) {
  return at::eq(self, -std::numeric_limits<double>::infinity());
}

}  // namespace

std::vector<NamedDecomposition> pointwise_decompositions() {
  return {
      decomposition("addcdiv", addcdiv),
      decomposition("addcmul", addcmul),
      decomposition("clamp_max", clamp_max),
      decomposition("clamp_max_tensor", clamp_max_tensor),
      decomposition("clamp_min", clamp_min),
      decomposition("clamp_min_tensor", clamp_min_tensor),
      decomposition("deg2rad", deg2rad),
      decomposition("floor_divide", floor_divide),
      decomposition("fmax", fmax),
      decomposition("fmin", fmin),
      decomposition("frac", frac),
      decomposition("heaviside", heaviside),
      decomposition("isneginf", isneginf),
      decomposition("isposinf", isposinf),
      decomposition("lerp_scalar", lerp_scalar),
      decomposition("lerp_tensor", lerp_tensor),
      decomposition("logit", logit),
      decomposition("lshift_scalar", lshift_scalar),
      decomposition("lshift_tensor", lshift_tensor),
      decomposition("masked_fill_scalar", masked_fill_scalar),
      decomposition("masked_fill_tensor", masked_fill_tensor),
      decomposition("nan_to_num", nan_to_num),
      decomposition("rad2deg", rad2deg),
      decomposition("rsub_scalar", rsub_scalar),
      decomposition("rsub_tensor", rsub_tensor),
      decomposition("rshift_scalar", rshift_scalar),
      decomposition("rshift_tensor", rshift_tensor),
      decomposition("sinc", sinc),
      decomposition("square", square),
      decomposition("xlog1py", xlog1py),
      decomposition("xlogy", xlogy),
  };
}

}  // namespace triptych::normalize
