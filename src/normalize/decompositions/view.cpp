// Views that core ATen spells in another way, and the ops that put views together.
#include <ATen/ops/_conj_physical.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/permute.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/unsqueeze.h>
#include <c10/core/WrapDimMinimal.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

Tensor alias(const Tensor& self) { return at::alias(self); }

Tensor swapped(const Tensor& self, int64_t dim0, int64_t dim1) {
  if (dim0 == dim1) return at::alias(self);
  std::vector<int64_t> dims(self.dim());
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims[dim0], dims[dim1]);
  return at::permute(self, dims);
}

Tensor t(const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ",
              self.dim(), "D");
  return swapped(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t first = c10::maybe_wrap_dim(dim0, self.dim());
  return swapped(self, first, c10::maybe_wrap_dim(dim1, self.dim()));
}

Tensor unsafe_view(const Tensor& self, c10::SymIntArrayRef size) { return self.view_symint(size); }

Tensor squeeze(const Tensor& self) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (self.sym_size(i) == 1) dims.push_back(i);
  }
  return at::squeeze(self, dims);
}

std::vector<Tensor> split(const Tensor& self, c10::SymInt piece, int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  TORCH_CHECK(piece >= 0, "split expects split_size be non-negative, but got split_size=", piece);
  const c10::SymInt size = self.sym_size(dim);
  TORCH_CHECK(piece > 0 || size == 0,
              "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  const int64_t count =
      piece == 0 ? 1 : ((size + piece - 1) / piece).max(1).guard_int(__FILE__, __LINE__);
  std::vector<c10::SymInt> sizes(count, piece);
  sizes.back() = size - piece * (count - 1);
  return at::split_with_sizes_symint(self, sizes, dim);
}

std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, c10::SymIntArrayRef sizes,
                                            int64_t dim) {
  return at::split_with_sizes_symint(self, sizes, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  TORCH_CHECK_INDEX(self.dim() != 0, "Dimension specified as 0 but tensor has no dimensions");
  const int64_t count = self.sym_size(dim).guard_int(__FILE__, __LINE__);
  std::vector<Tensor> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(self.select_symint(dim, i));
  return out;
}

Tensor stack(at::TensorList tensors, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const int64_t wrapped = c10::maybe_wrap_dim(dim, tensors[0].dim() + 1);
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i].sym_sizes() == tensors[0].sym_sizes(),
                "stack expects each tensor to be equal size, but got ", tensors[0].sym_sizes(),
                " at entry 0 and ", tensors[i].sym_sizes(), " at entry ", i);
  }
  if (wrapped < tensors[0].dim()) {  // a cat can be split where the parts were
    std::vector<c10::SymInt> sizes(tensors[0].sym_sizes().begin(), tensors[0].sym_sizes().end());
    sizes.insert(sizes.begin() + wrapped, static_cast<int64_t>(tensors.size()));
    return at::cat(tensors, wrapped).view_symint(sizes);
  }
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(at::unsqueeze(tensor, wrapped));
  return at::cat(parts, wrapped);
}

// Core ATen has no view of other values: the conjugate is computed where eager would only mark it.
Tensor conj(const Tensor& self) { return at::_conj_physical(self); }
Tensor neg_view(const Tensor& self) { return at::neg(self); }

// Any pairs would do here; eager wants them to lie as complex numbers.
Tensor view_as_complex(const Tensor& self) {
  TORCH_CHECK(self.dim() != 0, "Input tensor must have one or more dimensions");
  TORCH_CHECK(self.sym_size(-1) == 2, "Tensor must have a last dimension of size 2");
  TORCH_CHECK(self.sym_stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  for (int64_t d = 0; d + 1 < self.dim(); ++d) {
    TORCH_CHECK(self.sym_stride(d) % 2 == 0,
                "Tensor must have a stride divisible by 2 for all but last dimension");
  }
  TORCH_CHECK(self.sym_storage_offset() % 2 == 0,
              "Tensor must have a storage_offset divisible by 2");
  return at::complex(self.select(-1, 0), self.select(-1, 1));
}

Tensor reshape_alias(const Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef) {
  return self.view_symint(size);
}

}  // namespace

std::vector<NamedDecomposition> view_decompositions() {
  return {
      decomposition("alias", alias),
      decomposition("conj", conj),
      decomposition("neg_view", neg_view),
      decomposition("reshape_alias", reshape_alias),
      decomposition("split", split),
      decomposition("squeeze", squeeze),
      decomposition("stack", stack),
      decomposition("t", t),
      decomposition("transpose", transpose),
      decomposition("unbind", unbind),
      decomposition("unsafe_split_with_sizes", unsafe_split_with_sizes),
      decomposition("unsafe_view", unsafe_view),
      decomposition("view_as_complex", view_as_complex),
  };
}

}  // namespace triptych::normalize
