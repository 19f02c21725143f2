// Matrix products over mm, bmm and addmm.
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

Tensor scaled(const Tensor& t, const Scalar& by) { return by.equal(1) ? t : at::mul(t, by); }

// beta self + alpha product; with beta 0 self is not read, NaN or not
Tensor blended(const Tensor& self, const Tensor& product, const Scalar& beta,
               const Scalar& alpha) {
  const Tensor out = scaled(product, alpha);
  return beta.equal(0) ? out : at::add(out, scaled(self, beta));
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  return blended(self, at::bmm(batch1, batch2), beta, alpha);
}

// the batch's products summed
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  return blended(self, at::sum(at::bmm(batch1, batch2), 0), beta, alpha);
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ",
              self.dim(), ", ", vec.dim());
  TORCH_CHECK(self.sym_size(1) == vec.sym_size(0), "size mismatch, got input (",
              self.sym_size(0), "), mat (", self.sym_size(0), "x", self.sym_size(1), "), vec (",
              vec.sym_size(0), ")");
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

// beta self + alpha outer(vec1, vec2)
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  TORCH_CHECK(vec1.dim() == 1 && vec2.dim() == 1,
              "addr: Expected 1-D arguments vec1 and vec2, but got ", vec1.dim(), "-D and ",
              vec2.dim(), "-D");
  return blended(self, at::mul(vec1.unsqueeze(1), vec2), beta, alpha);
}

}  // namespace

std::vector<NamedDecomposition> matmul_decompositions() {
  return {
      decomposition("addbmm", addbmm), decomposition("addmv", addmv),
      decomposition("addr", addr),     decomposition("baddbmm", baddbmm),
      decomposition("dot", dot),       decomposition("mv", mv),
  };
}

}  // namespace triptych::normalize
