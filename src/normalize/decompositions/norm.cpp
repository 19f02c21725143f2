// Softmax with wholly masked rows, and norms whose core form has another signature.
#include <ATen/ops/_softmax.h>
#include <ATen/ops/add.h>
#include <ATen/ops/any.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/where.h>

#include <limits>
#include <numeric>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

// softmax, but rows of only -inf give 0
Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype) {
  const Tensor x = dtype ? to_dtype(self, *dtype) : self;
  const Tensor out = at::_softmax(x, dim, /*half_to_float=*/false);
  const Tensor open = at::any(at::ne(x, -std::numeric_limits<double>::infinity()), dim, true);
  return at::where(open, out, number_like(out, 0));
}

// x / sqrt(mean(x^2) + eps), times the weight
std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, at::IntArrayRef shape,
                                          const std::optional<Tensor>& weight,
                                          std::optional<double> eps) {
  const Tensor x = upcast(input);
  std::vector<int64_t> dims(shape.size());
  std::iota(dims.begin(), dims.end(), input.dim() - static_cast<int64_t>(shape.size()));
  const double epsilon =
      eps.value_or(input.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                      : std::numeric_limits<float>::epsilon());
  const Tensor rstd = at::rsqrt(at::add(at::mean(at::mul(x, x), dims, true), epsilon));
  Tensor out = at::mul(x, rstd);
  if (weight && weight->defined()) out = at::mul(out, upcast(*weight));
  return {to_dtype(out, input.scalar_type()), rstd};
}

}  // namespace

std::vector<NamedDecomposition> norm_decompositions() {
  return {
      decomposition("fused_rms_norm", fused_rms_norm),
      decomposition("safe_softmax", safe_softmax),
  };
}

}  // namespace triptych::normalize
