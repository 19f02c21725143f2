// Matrix products over mm, bmm and addmm.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_unsafe_view.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/squeeze.h>

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

Tensor matrix_times_vector(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ",
              self.dim(), ", ", vec.dim());
  TORCH_CHECK(self.sym_size(1) == vec.sym_size(0), "size mismatch, got input (", self.sym_size(0),
              "), mat (", self.sym_size(0), "x", self.sym_size(1), "), vec (", vec.sym_size(0),
              ")");
  return at::mm(self, vec.unsqueeze(1)).squeeze(1);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  return blended(self, matrix_times_vector(mat, vec), beta, alpha);
}

Tensor dot(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(),
              "D and ", other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", self.scalar_type(),
              " and ", other.scalar_type());
  return at::mm(self.unsqueeze(0), other.unsqueeze(1)).view(at::IntArrayRef());
}

using Sizes = c10::SymDimVector;

Sizes leading(const Tensor& t, int64_t without) {
  const int64_t count = std::max<int64_t>(t.dim() - without, 0);
  return {t.sym_sizes().begin(), t.sym_sizes().begin() + count};
}

Sizes joined(Sizes sizes, std::initializer_list<c10::SymInt> more) {
  sizes.append(more.begin(), more.end());
  return sizes;
}

// Whether the rows of all matrices of a batch lie evenly spaced, so that they are one matrix.
bool rows_are_one_matrix(const Tensor& batch) {
  if (batch.sym_numel() == 0) return true;
  for (int64_t d = 0; d + 2 < batch.dim(); ++d) {
    const c10::SymInt matrix = batch.sym_stride(d + 1) * batch.sym_size(d + 1);
    if (batch.sym_stride(d).sym_ne(matrix).guard_bool(__FILE__, __LINE__)) return false;
  }
  return true;
}

// A batch times one matrix or vector is one product of all its rows, if that costs no copy. It
// always is where the matrix needs a gradient, which else would be made for each of the batch.
bool multiplies_rows(const Tensor& a, const Tensor& b) {
  const Tensor& fewer = a.dim() >= b.dim() ? b : a;
  if (std::max(a.dim(), b.dim()) < 3 || fewer.dim() > 2) return false;
  if (fewer.requires_grad()) return true;
  if (a.dim() == 2) return false;  // the result would be transposed, and copied back
  return rows_are_one_matrix(a.dim() > b.dim() ? a : b.mT());
}

Tensor times_rows(const Tensor& batch, const Tensor& by) {
  const Sizes rows = leading(batch, 1);
  const Tensor matrix =
      batch.reshape_symint({c10::multiply_integers(rows), batch.sym_sizes().back()});
  if (by.dim() == 1) return at::_unsafe_view_symint(matrix.mv(by), rows);
  return at::_unsafe_view_symint(matrix.mm(by), joined(rows, {by.sym_size(1)}));
}

Tensor multiplied_rows(const Tensor& a, const Tensor& b) {
  if (a.dim() > b.dim()) return times_rows(a, b);
  if (a.dim() == 1) return times_rows(b.mT(), a);
  return times_rows(b.mT(), a.t()).mT().contiguous();
}

Tensor product(const Tensor& a, const Tensor& b);

Tensor multiplied_batches(const Tensor& a, const Tensor& b) {
  const Sizes batch_a = leading(a, 2);
  const Sizes batch_b = leading(b, 2);
  // One of a batch needs no copies; sizes that do not fit are refused below in eager's words.
  if (a.dim() == 3 && b.dim() == 3 && batch_a[0] != batch_b[0] && a.sym_size(2) == b.sym_size(1)) {
    if (batch_a[0] == 1) return product(a.squeeze(0), b);
    if (batch_b[0] == 1) return product(a, b.squeeze(0));
  }
  Sizes sizes = at::infer_size_symdimvector(batch_a, batch_b);
  const c10::SymInt count = c10::multiply_integers(sizes);
  const Sizes rows = a.dim() == 1 ? Sizes{} : Sizes{a.sym_size(-2)};
  const Sizes columns = b.dim() == 1 ? Sizes{} : Sizes{b.sym_size(-1)};
  const c10::SymInt height = rows.empty() ? c10::SymInt(1) : rows[0];
  const c10::SymInt depth = a.sym_sizes().back();
  const Tensor left =
      a.expand_symint(joined(sizes, {height, depth})).reshape_symint({count, height, depth});
  const c10::SymInt depth_b = columns.empty() ? b.sym_size(0) : b.sym_size(-2);
  const Tensor right =
      columns.empty()
          ? b.expand_symint(joined(sizes, {depth_b})).reshape_symint({count, depth_b}).unsqueeze(2)
          : b.expand_symint(joined(sizes, {depth_b, columns[0]}))
                .reshape_symint({count, depth_b, columns[0]});
  sizes.append(rows);
  sizes.append(columns);
  return at::_unsafe_view_symint(left.bmm(right), sizes);
}

// Composite in torch too, where minors before 2.12 read the sizes as plain integers.
Tensor product(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() != 0 && b.dim() != 0,
              "both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ",
              b.dim(), "D");
  if (multiplies_rows(a, b)) return multiplied_rows(a, b);
  if (a.dim() > 2 || b.dim() > 2) return multiplied_batches(a, b);
  if (a.dim() == 1 && b.dim() == 1) return a.dot(b);
  if (b.dim() == 1) return a.mv(b);
  return a.dim() == 1 ? a.unsqueeze(0).mm(b).squeeze(0) : a.mm(b);
}

}  // namespace

std::vector<NamedDecomposition> matmul_decompositions() {
  return {
      decomposition("addbmm", addbmm),   decomposition("addmv", addmv),
      decomposition("baddbmm", baddbmm), decomposition("dot", dot),
      decomposition("matmul", product),  decomposition("mv", matrix_times_vector),
  };
}

}  // namespace triptych::normalize
