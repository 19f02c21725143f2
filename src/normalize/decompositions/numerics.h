// Half and bfloat16 are computed in float32 and rounded once, as eager's kernels do.
#pragma once

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_to_copy.h>

namespace triptych::normalize {

inline at::Tensor to_dtype(const at::Tensor& t, at::ScalarType dtype) {
  return t.scalar_type() == dtype ? t : at::_to_copy(t, t.options().dtype(dtype));
}

// The dtype that eager's kernels compute in.
inline at::ScalarType compute_dtype(const at::Tensor& t) {
  return at::toOpMathType(t.scalar_type());
}

inline at::Tensor upcast(const at::Tensor& t) { return to_dtype(t, compute_dtype(t)); }

}  // namespace triptych::normalize
