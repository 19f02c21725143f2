// Activations, each as its formula.
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

// x sigmoid(x)
Tensor silu(const Tensor& self) {
  const Tensor x = upcast(self);
  return to_dtype(at::mul(x, at::sigmoid(x)), self.scalar_type());
}

// x tanh(log(1 + e^x))
Tensor mish(const Tensor& self) {
  const Tensor x = upcast(self);
  return to_dtype(at::mul(x, at::tanh(at::log1p(at::exp(x)))), self.scalar_type());
}

// log(1 + e^(beta x)) / beta, and x itself where that is as good
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  const Tensor x = upcast(self);
  const Tensor scaled = at::mul(x, beta);
  const Tensor soft = at::mul(at::log1p(at::exp(scaled)), 1.0 / beta.toDouble());
  return to_dtype(at::where(at::gt(scaled, threshold), x, soft), self.scalar_type());
}

// x min(max(x + 3, 0), 6) / 6
Tensor hardswish(const Tensor& self) {
  const Tensor x = upcast(self);
  const Tensor gate = at::clamp(at::add(x, 3), 0, 6);
  return to_dtype(at::mul(at::mul(x, gate), 1.0 / 6.0), self.scalar_type());
}

// min(max(x + 3, 0), 6) / 6
Tensor hardsigmoid(const Tensor& self) {
  const Tensor x = upcast(self);
  return to_dtype(at::mul(at::clamp(at::add(x, 3), 0, 6), 1.0 / 6.0), self.scalar_type());
}

// x outside [-lambda, lambda], NaN kept, else 0
Tensor hardshrink(const Tensor& self, const Scalar& lambda) {
  return at::where(at::le(at::abs(self), lambda), number_like(self, 0), self);
}

// x moved towards 0 by lambda; 0 where it would cross, NaN kept
Tensor softshrink(const Tensor& self, const Scalar& width) {
  const double lambda = width.toDouble();
  const Tensor x = upcast(self);
  const Tensor below = at::where(at::le(at::abs(x), lambda), number_like(x, 0), at::add(x, lambda));
  return to_dtype(at::where(at::gt(x, lambda), at::sub(x, lambda), below), self.scalar_type());
}

Tensor selu(const Tensor& self) {
  return at::elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
}

// max(0, x) + min(0, alpha (e^(x / alpha) - 1))
Tensor celu(const Tensor& self, const Scalar& alpha) {
  TORCH_CHECK(alpha.to<double>() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return at::elu(self, alpha, 1.0, 1.0 / alpha.to<double>());
}

Tensor relu6(const Tensor& self) { return at::hardtanh(self, 0, 6); }

// x above the threshold (NaN too), else the value
Tensor threshold(const Tensor& self, const Scalar& limit, const Scalar& value) {
  return at::where(at::le(upcast(self), limit), number_like(self, value), self);
}

// min(x, 0) - log(1 + e^-|x|), and the buffer that only CPU kernels fill
std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
  const Tensor x = upcast(self);
  const Tensor decay = at::exp(at::neg(at::abs(x)));
  const Tensor low = at::minimum(x, number_like(x, 0));
  const Tensor out = at::sub(low, at::log1p(decay));
  return {to_dtype(out, self.scalar_type()).contiguous(),
          to_dtype(decay, self.scalar_type()).contiguous()};
}

// first half times sigmoid of the second
Tensor glu(const Tensor& self, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const c10::SymInt size = self.sym_size(dim);
  TORCH_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ",
              c10::maybe_wrap_dim(dim, self.dim()), " is size ", size);
  const c10::SymInt half = size / 2;
  const Tensor first = upcast(self.slice_symint(dim, 0, half));
  const Tensor second = upcast(self.slice_symint(dim, half, size));
  return to_dtype(at::mul(first, at::sigmoid(second)), self.scalar_type());
}

Tensor prelu_kernel(const Tensor& self, const Tensor& weight) {
  return at::where(at::gt(self, 0), self, at::mul(self, weight));
}

}  // namespace

std::vector<NamedDecomposition> activation_decompositions() {
  return {
      decomposition("celu", celu),
      decomposition("glu", glu),
      decomposition("hardshrink", hardshrink),
      decomposition("hardsigmoid", hardsigmoid),
      decomposition("hardswish", hardswish),
      decomposition("log_sigmoid_forward", log_sigmoid_forward),
      decomposition("mish", mish),
      decomposition("prelu_kernel", prelu_kernel),
      decomposition("relu6", relu6),
      decomposition("selu", selu),
      decomposition("silu", silu),
      decomposition("softplus", softplus),
      decomposition("softshrink", softshrink),
      decomposition("threshold", threshold),
  };
}

}  // namespace triptych::normalize
