// Sizes and strides as PyTorch computes them, over symbolic integers. Comparisons of plain integers
// cost nothing; a comparison that its operands do not decide makes a guard.
#pragma once

#include "normalize/shape_rules/arguments.h"

namespace triptych::normalize {

// a == b, without making a node where the two are plain integers or the same node.
inline bool equal(const c10::SymInt& a, const c10::SymInt& b) {
  if (!a.is_heap_allocated() && !b.is_heap_allocated()) {
    return a.as_int_unchecked() == b.as_int_unchecked();
  }
  if (a.is_heap_allocated() && b.is_heap_allocated() &&
      a.toSymNodeImplUnowned() == b.toSymNodeImplUnowned()) {
    return true;
  }
  return a == b;
}
inline bool is_value(const c10::SymInt& a, int64_t value) {
  return a.is_heap_allocated() ? a == value : a.as_int_unchecked() == value;
}
bool equal(SizesRef a, SizesRef b);

c10::SymInt product(SizesRef sizes);

Sizes contiguous_strides(SizesRef sizes);
// channels_last of 4 dimensions and channels_last_3d of 5; contiguous for any other format.
Sizes strides_of_format(SizesRef sizes, at::MemoryFormat format);
// Dense strides in the order of the given ones: what `preserve_format` gives for a tensor that is
// neither dense nor expanded (at::infer_dense_strides).
Sizes dense_strides_like(SizesRef sizes, SizesRef strides);

// What a factory with `memory_format` (None: preserve) gives for a result like `self`.
Sizes strides_like(const at::Tensor& self, at::MemoryFormat format);

bool is_contiguous(const at::Tensor& t);
bool is_non_overlapping_and_dense(const at::Tensor& t);

// A fresh contiguous result.
ResultMeta fresh(Sizes sizes, at::ScalarType dtype, c10::Device device);
inline ResultMeta fresh_like(Sizes sizes, const at::Tensor& like) {
  return fresh(std::move(sizes), like.scalar_type(), like.device());
}
ResultMeta fresh_in_format(Sizes sizes, at::ScalarType dtype, c10::Device device,
                           at::MemoryFormat format);
ResultMeta undefined_result();

inline Sizes sizes_of(const at::Tensor& t) {
  const SizesRef sizes = t.sym_sizes();
  return Sizes(sizes.begin(), sizes.end());
}
inline Sizes strides_of(const at::Tensor& t) {
  const SizesRef strides = t.sym_strides();
  return Sizes(strides.begin(), strides.end());
}

}  // namespace triptych::normalize
