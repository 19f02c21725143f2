// Rules of matrix products: fresh contiguous results.
#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

void check_products(const at::Tensor& mat1, const at::Tensor& mat2) {
  TORCH_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  TORCH_CHECK(equal(mat1.sym_size(1), mat2.sym_size(0)),
              "mat1 and mat2 shapes cannot be multiplied (", mat1.sym_size(0), "x",
              mat1.sym_size(1), " and ", mat2.sym_size(0), "x", mat2.sym_size(1), ")");
}

void check_dtypes(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "expected m1 and m2 to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
}

void check_expandable(const Sizes& target, const at::Tensor& self) {
  const SizesRef sizes = self.sym_sizes();
  TORCH_CHECK(target.size() >= sizes.size(), "expand(", self.toString(), "{", sizes,
              "}, size=", SizesRef(target), "): the number of sizes provided (", target.size(),
              ") must be greater or equal to the number of dimensions in the tensor (",
              sizes.size(), ")");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const c10::SymInt& wanted = target[target.size() - sizes.size() + i];
    TORCH_CHECK(is_value(sizes[i], 1) || equal(sizes[i], wanted),
                "The expanded size of the tensor (", wanted, ") must match the existing size (",
                sizes[i], ") at non-singleton dimension ", target.size() - sizes.size() + i,
                ".  Target sizes: ", SizesRef(target), ".  Tensor sizes: ", sizes);
  }
}

void mm(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::Tensor& mat2 = ctx.tensor(1);
  TORCH_CHECK(self.dim() == 2, "self must be a matrix");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  check_products(self, mat2);
  check_dtypes(self, mat2);
  ctx.add_result(fresh_like({self.sym_size(0), mat2.sym_size(1)}, self));
}

void addmm(RuleContext& ctx) {
  const at::Tensor& bias = ctx.tensor(0);
  const at::Tensor& mat1 = ctx.tensor(1);
  const at::Tensor& mat2 = ctx.tensor(2);
  TORCH_CHECK(bias.scalar_type() == mat2.scalar_type(),
              "self and mat2 must have the same dtype, but got ", bias.scalar_type(), " and ",
              mat2.scalar_type());
  check_products(mat1, mat2);
  TORCH_CHECK(mat1.scalar_type() == mat2.scalar_type(),
              "mat1 and mat2 must have the same dtype, but got ", mat1.scalar_type(), " and ",
              mat2.scalar_type());
  Sizes sizes{mat1.sym_size(0), mat2.sym_size(1)};
  check_expandable(sizes, bias);
  ctx.add_result(fresh_like(std::move(sizes), mat1));
}

Sizes batched_sizes(const at::Tensor& batch1, const at::Tensor& batch2) {
  TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  const SizesRef a = batch1.sym_sizes();
  const SizesRef b = batch2.sym_sizes();
  TORCH_CHECK(equal(b[0], a[0]) && equal(b[1], a[2]),
              "Expected size for first two dimensions of batch2 tensor to be: [", a[0], ", ", a[2],
              "] but got: [", b[0], ", ", b[1], "].");
  return {a[0], a[1], b[2]};
}

void check_batch_dtypes(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), "expected scalar type ", a.scalar_type(),
              " but found ", b.scalar_type());
}

void bmm(RuleContext& ctx) {
  Sizes sizes = batched_sizes(ctx.tensor(0), ctx.tensor(1));
  check_batch_dtypes(ctx.tensor(0), ctx.tensor(1));
  ctx.add_result(fresh_like(std::move(sizes), ctx.tensor(0)));
}

void baddbmm(RuleContext& ctx) {
  Sizes sizes = batched_sizes(ctx.tensor(1), ctx.tensor(2));
  check_batch_dtypes(ctx.tensor(1), ctx.tensor(2));
  check_expandable(sizes, ctx.tensor(0));
  ctx.add_result(fresh_like(std::move(sizes), ctx.tensor(1)));
}

void mv(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::Tensor& vec = ctx.tensor(1);
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1 && equal(self.sym_size(1), vec.sym_size(0)),
              "size mismatch, got input (", self.sym_size(0), "), mat (", self.sym_size(0), "x",
              self.sym_size(1), "), vec (", vec.sym_size(0), ")");
  ctx.add_result(fresh_like({self.sym_size(0)}, self));
}

void addmv(RuleContext& ctx) {
  const at::Tensor& mat = ctx.tensor(1);
  const at::Tensor& vec = ctx.tensor(2);
  TORCH_CHECK(mat.dim() == 2 && vec.dim() == 1 && ctx.tensor(0).dim() <= 1,
              "vector + matrix @ vector expected, got ", ctx.tensor(0).dim(), ", ", mat.dim(), ", ",
              vec.dim());
  TORCH_CHECK(equal(mat.sym_size(1), vec.sym_size(0)), "size mismatch, got input (",
              ctx.tensor(0).sym_numel(), "), mat (", mat.sym_size(0), "x", mat.sym_size(1),
              "), vec (", vec.sym_size(0), ")");
  ctx.add_result(fresh_like({mat.sym_size(0)}, vec));
}

void dot(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::Tensor& other = ctx.tensor(1);
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(),
              "D and ", other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", self.scalar_type(),
              " and ", other.scalar_type());
  TORCH_CHECK(equal(self.sym_size(0), other.sym_size(0)),
              "inconsistent tensor size, expected tensor [", self.sym_size(0), "] and src [",
              other.sym_size(0), "] to have the same number of elements, but got ",
              self.sym_size(0), " and ", other.sym_size(0), " elements respectively");
  ctx.add_result(fresh_like({}, self));
}

// aten.linear: bias optional; the weight may be a vector.
void linear(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const at::Tensor& weight = ctx.tensor(1);
  const c10::SymInt features = weight.sym_size(-1);
  TORCH_CHECK(equal(input.sym_sizes().back(), features),
              "mat1 and mat2 shapes cannot be multiplied (",
              product(input.sym_sizes().slice(0, input.dim() - 1)), "x", input.sym_sizes().back(),
              " and ", features, "x", weight.sym_size(0), ")");
  Sizes sizes = sizes_of(input);
  if (weight.dim() == 1) {
    sizes.pop_back();
  } else {
    sizes.back() = weight.sym_size(0);
  }
  ctx.add_result(fresh_like(std::move(sizes), input));
}

// aten._cdist_forward: distances of every pair of rows.
void cdist(RuleContext& ctx) {
  const at::Tensor& a = ctx.tensor(0);
  const at::Tensor& b = ctx.tensor(1);
  TORCH_CHECK(equal(a.sym_sizes().back(), b.sym_sizes().back()),
              "X1 and X2 must have the same number of columns. X1: ", a.sym_sizes().back(),
              " X2: ", b.sym_sizes().back());
  Sizes sizes = broadcast(a.sym_sizes().slice(0, a.dim() - 2), b.sym_sizes().slice(0, b.dim() - 2));
  sizes.push_back(a.sym_size(-2));
  sizes.push_back(b.sym_size(-2));
  ctx.add_result(fresh_like(std::move(sizes), a));
}

// Complex eigenvalues, and eigenvectors with the columns dense.
void linalg_eig(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.dim() >= 2, "linalg.eig: The input tensor A must have at least 2 dimensions.");
  const at::ScalarType dtype =
      self.is_complex() ? self.scalar_type() : c10::toComplexType(self.scalar_type());
  Sizes values = sizes_of(self);
  values.pop_back();
  ctx.add_result(fresh(std::move(values), dtype, self.device()));
  ResultMeta vectors = fresh(sizes_of(self), dtype, self.device());
  const std::size_t n = vectors.sizes.size();
  std::swap(vectors.strides[n - 1], vectors.strides[n - 2]);
  ctx.add_result(std::move(vectors));
}

constexpr NamedRule kRules[] = {
    {"addmm", addmm}, {"addmv", addmv}, {"baddbmm", baddbmm}, {"bmm", bmm},
    {"cdist", cdist}, {"dot", dot},     {"linear", linear},   {"linalg_eig", linalg_eig},
    {"mm", mm},       {"mv", mv},
};

}  // namespace

std::span<const NamedRule> matmul_rules() { return kRules; }

}  // namespace triptych::normalize
