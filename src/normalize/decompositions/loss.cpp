// Losses: a formula per element, then the asked reduction.
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/unsqueeze.h>
#include <ATen/ops/where.h>

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
  const Tensor difference = at::sub(self, target);
  return reduced(at::mul(difference, difference), reduction);
}

// d^2 / (2 beta) below beta, |d| - beta / 2 above
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const at::ScalarType dtype = at::result_type(self, target);
  const Tensor d = at::abs(at::sub(upcast(self), upcast(target)));
  if (beta == 0) return reduced(to_dtype(d, dtype), reduction);
  const Tensor near = at::div(at::mul(at::mul(d, 0.5), d), beta);
  const Tensor loss = at::where(at::lt(d, beta), near, at::sub(d, 0.5 * beta));
  return reduced(to_dtype(loss, dtype), reduction);
}

// d^2 / 2 up to delta, delta (|d| - delta / 2) above
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  const at::ScalarType dtype = at::result_type(self, target);
  const Tensor d = at::abs(at::sub(upcast(self), upcast(target)));
  const Tensor near = at::mul(at::mul(d, 0.5), d);
  const Tensor far = at::mul(at::sub(d, 0.5 * delta), delta);
  return reduced(to_dtype(at::where(at::le(d, delta), near, far), dtype), reduction);
}

// log(1 + e^(-y x))
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor loss = at::log1p(at::exp(at::neg(at::mul(target, self))));
  return reduced(loss, reduction);
}

Tensor weighted(const Tensor& loss, const std::optional<Tensor>& weight) {
  return weight && weight->defined() ? at::mul(loss, *weight) : loss;
}

// (y - 1) log(1 - x) - y log(x), each log at least -100
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target,
                            const std::optional<Tensor>& weight, int64_t reduction) {
  const Tensor x = upcast(self);
  const Tensor y = upcast(target);
  const Tensor no = at::clamp(at::log1p(at::neg(x)), -100);
  const Tensor yes = at::clamp(at::log(x), -100);
  const Tensor loss = at::sub(at::mul(at::sub(y, 1), no), at::mul(y, yes));
  return reduced(weighted(to_dtype(loss, self.scalar_type()), weight), reduction);
}

// (1 - y) x + (1 + (w - 1) y) (log(1 + e^-|x|) + max(-x, 0)), w = pos_weight or 1
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight,
                                        int64_t reduction) {
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
  return reduced(weighted(loss, weight), reduction);
}

// -w[y] x[y] over the class dimension; targets equal to ignore_index count nothing. For [C], [N, C]
// and [N, C, H, W]; the mean divides by the weights' sum.
std::tuple<Tensor, Tensor> nll_loss(const Tensor& self, const Tensor& target,
                                    const std::optional<Tensor>& weight, int64_t reduction,
                                    const c10::SymInt& ignore_index) {
  const int64_t classes = self.dim() == 1 ? 0 : 1;
  const Tensor counted = at::ne(target, ignore_index.guard_int(__FILE__, __LINE__));
  const Tensor safe = at::where(counted, target, number_like(target, 0));
  const bool lone = self.dim() == 1 && target.dim() == 0;
  const Tensor index = lone              ? at::unsqueeze(safe, 0)
                       : self.dim() == 1 ? safe
                                         : at::unsqueeze(safe, classes);
  Tensor loss = at::neg(at::gather(self, classes, index));
  loss = self.dim() == 1 ? loss.view_symint(target.sym_sizes()) : at::squeeze(loss, classes);
  Tensor share = to_dtype(counted, self.scalar_type());
  if (weight && weight->defined()) {
    const Tensor flat = safe.reshape({-1});
    const Tensor w = at::index_select(*weight, 0, flat).view_symint(target.sym_sizes());
    loss = at::mul(loss, w);
    share = at::where(counted, w, number_like(w, 0));
  }
  loss = at::where(counted, loss, number_like(loss, 0));
  if (reduction == kNone && self.dim() > 1) return {loss, number_like(self, 0)};
  const Tensor total = at::sum(share);
  const Tensor sum = at::sum(loss);
  return {reduction == kMean ? at::div(sum, total) : sum, total};
}

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const std::optional<Tensor>& weight, int64_t reduction,
                                            c10::SymInt ignore_index) {
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  TORCH_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  TORCH_CHECK(self.dim() == 1 || self.sym_size(0) == target.sym_size(0),
              "size mismatch (got input: ", self.sym_sizes(), ", target: ", target.sym_sizes(),
              ")");
  return nll_loss(self, target, weight, reduction, ignore_index);
}

std::tuple<Tensor, Tensor> nll_loss2d_forward(const Tensor& self, const Tensor& target,
                                              const std::optional<Tensor>& weight,
                                              int64_t reduction, c10::SymInt ignore_index) {
  TORCH_CHECK(target.dim() == 3,
              "only batches of spatial targets supported (3D tensors) but got "
              "targets of dimension: ",
              target.dim());
  TORCH_CHECK(self.dim() == 4,
              "only batches of spatial inputs supported (4D tensors), but got "
              "input of dimension: ",
              self.dim());
  return nll_loss(self, target, weight, reduction, ignore_index);
}

}  // namespace

std::vector<NamedDecomposition> loss_decompositions() {
  return {
      decomposition("binary_cross_entropy", binary_cross_entropy),
      decomposition("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits),
      decomposition("huber_loss", huber_loss),
      decomposition("mse_loss", mse_loss),
      decomposition("nll_loss2d_forward", nll_loss2d_forward),
      decomposition("nll_loss_forward", nll_loss_forward),
      decomposition("smooth_l1_loss", smooth_l1_loss),
      decomposition("soft_margin_loss", soft_margin_loss),
  };
}

}  // namespace triptych::normalize
