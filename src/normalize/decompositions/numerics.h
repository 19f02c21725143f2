// What the decompositions share. Half and bfloat16 are computed in float32 and rounded once, as
// eager's kernels do.
#pragma once

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/scalar_tensor.h>

namespace triptych::normalize {

using at::Scalar;
using at::Tensor;

inline Tensor to_dtype(const Tensor& t, at::ScalarType dtype) {
  return t.scalar_type() == dtype ? t : at::_to_copy(t, t.options().dtype(dtype));
}

// The dtype that eager's kernels compute in.
inline at::ScalarType compute_dtype(const Tensor& t) { return at::toOpMathType(t.scalar_type()); }

inline Tensor upcast(const Tensor& t) { return to_dtype(t, compute_dtype(t)); }

inline bool is_integral(const Tensor& t) { return c10::isIntegralType(t.scalar_type(), true); }

// A number as eager converts it to `dtype`: truncated to an integer, rounded to a 16-bit float.
inline Scalar as_dtype(const Scalar& value, at::ScalarType dtype) {
  if (dtype == at::kBool) return value.to<bool>();
  if (c10::isIntegralType(dtype, false) && value.isFloatingPoint()) return value.to<int64_t>();
  if (dtype == at::kHalf) return static_cast<double>(value.to<at::Half>());
  return dtype == at::kBFloat16 ? static_cast<double>(value.to<at::BFloat16>()) : value;
}

// A 0-d tensor of this value beside `like`.
inline Tensor number_like(const Tensor& like, const Scalar& value) {
  return at::scalar_tensor(value, like.options());
}

}  // namespace triptych::normalize
