// Losses: a formula per element, then the asked reduction.
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>

#include "normalize/bool_minus.h"
#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Tensor reduced(const Tensor& loss, int64_t reduction) {
  if (reduction == kMean) return at::mean(loss);
  return reduction == kSum ? at::sum(loss) : loss;
}

// (x - y)^2
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const at::ScalarType dtype = at::result_type(self, target);
  const Tensor difference = at::sub(to_dtype(self, dtype), to_dtype(target, dtype));
  return reduced(at::mul(difference, difference), reduction);
}

// |x - y|, in the dtype that eager's kernels compute in
Tensor distance(const Tensor& self, const Tensor& target, at::ScalarType joint) {
  return at::abs(at::sub(upcast(to_dtype(self, joint)), upcast(to_dtype(target, joint))));
}

// d^2 / (2 beta) below beta, |d| - beta / 2 above
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const at::ScalarType dtype = at::result_type(self, target);
  const Tensor d = distance(self, target, dtype);
  if (beta == 0) return reduced(to_dtype(d, dtype), reduction);
  const Tensor near = at::div(at::mul(at::mul(d, 0.5), d), beta);
  const Tensor loss = at::where(at::lt(d, beta), near, at::sub(d, 0.5 * beta));
  return reduced(to_dtype(loss, dtype), reduction);
}

// d^2 / 2 up to delta, of the dtype of the input: delta (|d| - delta / 2) above
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  const Tensor d = distance(self, target, at::result_type(self, target));
  const Tensor near = at::mul(at::mul(d, 0.5), d);
  const Tensor far = at::mul(at::sub(d, 0.5 * delta), delta);
  const Tensor loss = at::where(at::le(d, delta), near, far);
  return reduced(to_dtype(loss, self.scalar_type()), reduction);
}

// log(1 + e^(-y x))
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor loss = at::log1p(at::exp(at::neg(at::mul(target, self))));
  return reduced(loss, reduction);
}

Tensor weighted(const Tensor& loss, const std::optional<Tensor>& weight) {
  return weight && weight->defined() ? at::mul(loss, *weight) : loss;
}

// (1 - y) x + (1 + (w - 1) y) (log(1 + e^-|x|) + max(-x, 0)), w = pos_weight or 1
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight,
                                        int64_t reduction) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"log_sigmoid_cpu\" not implemented for '",
                              self.scalar_type(), "'");
  check_minus(target.scalar_type() != at::kBool,
              "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
              "or `logical_xor()` operator instead.");
  const Tensor negative = at::neg(self);
  const Tensor soft = at::add(at::log1p(at::exp(at::neg(at::abs(self)))),
                              at::maximum(negative, number_like(self, 0)));
  const Tensor outside = at::mul(at::add(at::neg(target), 1), self);
  Tensor loss;
  if (pos_weight && pos_weight->defined()) {
    const Tensor scale = at::add(at::mul(at::sub(*pos_weight, 1), target), 1);
    loss = at::add(outside, at::mul(scale, soft));
  } else {
    loss = at::add(outside, soft);
  }
  // Eager writes into 1 - target, so that the target's dtype is the loss's.
  TORCH_CHECK(c10::canCast(loss.scalar_type(), target.scalar_type()), "result type ",
              loss.scalar_type(), " can't be cast to the desired output type ",
              target.scalar_type());
  return reduced(weighted(to_dtype(loss, target.scalar_type()), weight), reduction);
}

}  // namespace

std::vector<NamedDecomposition> loss_decompositions() {
  return {
      decomposition("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits),
      decomposition("huber_loss", huber_loss),
      decomposition("mse_loss", mse_loss),
      decomposition("smooth_l1_loss", smooth_l1_loss),
      decomposition("soft_margin_loss", soft_margin_loss),
  };
}

}  // namespace triptych::normalize
