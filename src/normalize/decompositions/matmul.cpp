// Matrix products over mm, bmm and addmm.
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

// Integer tensors take the factor as an integer.
Tensor scaled(const Tensor& t, const Scalar& by) {
  if (by.equal(1)) return t;
  return at::mul(t, is_integral(t) ? Scalar(by.to<int64_t>()) : by);
}

// beta self + alpha product; with beta 0 self is not read, NaN or not
Tensor blended(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor out = scaled(product, alpha);
  return beta.equal(0) ? out : at::add(out, scaled(self, beta));
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  const Tensor product = at::bmm(upcast(batch1), upcast(batch2));
  return to_dtype(blended(upcast(self), product, beta, alpha), batch1.scalar_type());
}

// The batch's products summed up in order, as eager does.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  const int64_t count = batch1.sym_size(0).guard_int(__FILE__, __LINE__);
  if (count == 0) {
    const std::vector<c10::SymInt> sizes{batch1.sym_size(1), batch2.sym_size(2)};
    return scaled(self.expand_symint(sizes), beta).clone();
  }
  Tensor out = self;
  for (int64_t i = 0; i < count; ++i) {
    out =
        at::addmm(out, batch1.select(0, i), batch2.select(0, i), i == 0 ? beta : Scalar(1), alpha);
  }
  return out;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ",
              self.dim(), ", ", vec.dim());
  TORCH_CHECK(self.sym_size(1) == vec.sym_size(0), "size mismatch, got input (", self.sym_size(0),
              "), mat (", self.sym_size(0), "x", self.sym_size(1), "), vec (", vec.sym_size(0),
              ")");
  return at::mm(self, vec.unsqueeze(1)).squeeze(1);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  return blended(self, mv(mat, vec), beta, alpha);
}

Tensor dot(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(),
              "D and ", other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", self.scalar_type(),
              " and ", other.scalar_type());
  return at::mm(self.unsqueeze(0), other.unsqueeze(1)).view(at::IntArrayRef());
}

}  // namespace

std::vector<NamedDecomposition> matmul_decompositions() {
  return {
      decomposition("addbmm", addbmm),   decomposition("addmv", addmv),
      decomposition("baddbmm", baddbmm), decomposition("dot", dot),
      decomposition("mv", mv),
  };
}

}  // namespace triptych::normalize
