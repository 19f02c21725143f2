// Softmax with wholly masked rows, and norms whose core form has another signature.
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/_native_batch_norm_legit_no_training.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/add.h>
#include <ATen/ops/any.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var.h>
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

using Optional = std::optional<Tensor>;

bool given(const Optional& t) { return t && t->defined(); }

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Optional& weight,
                                                     const Optional& bias, const Optional& mean,
                                                     const Optional& var, bool training,
                                                     double momentum, double eps) {
  if (!training) {
    TORCH_CHECK(given(mean) && given(var),
                "Expected running_mean and running_var to be defined when training=False");
    return at::_native_batch_norm_legit_no_training(input, weight, bias, *mean, *var, momentum,
                                                    eps);
  }
  if (!given(mean)) return at::_native_batch_norm_legit(input, weight, bias, true, momentum, eps);
  Tensor running_mean = *mean;
  Tensor running_var = *var;
  return at::_native_batch_norm_legit(input, weight, bias, running_mean, running_var, true,
                                      momentum, eps);
}

// momentum new + (1 - momentum) old
Tensor moved(const Tensor& old, const Tensor& now, double momentum) {
  return to_dtype(at::add(at::mul(now, momentum), at::mul(old, 1 - momentum)), old.scalar_type());
}

// The output, the batch's statistics, and the running ones moved towards them: the mean, and the
// variance without bias.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_functional(
    const Tensor& input, const Optional& weight, const Optional& bias, const Tensor& running_mean,
    const Tensor& running_var, bool training, double momentum, double eps) {
  if (!training) {
    auto [out, mean, invstd] = at::_native_batch_norm_legit_no_training(
        input, weight, bias, running_mean, running_var, momentum, eps);
    return {out, mean, invstd, running_mean, running_var};
  }
  auto [out, mean, invstd] = at::_native_batch_norm_legit(input, weight, bias, true, momentum, eps);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  const Tensor variance = at::var(upcast(input), dims, /*correction=*/Scalar(1));
  return {out, mean, invstd, moved(running_mean, mean, momentum),
          moved(running_var, variance, momentum)};
}

}  // namespace

std::vector<NamedDecomposition> norm_decompositions() {
  return {
      decomposition("batch_norm_functional", batch_norm_functional),
      decomposition("fused_rms_norm", fused_rms_norm),
      decomposition("native_batch_norm", native_batch_norm),
      decomposition("safe_softmax", safe_softmax),
  };
}

}  // namespace triptych::normalize
