#include "normalize/shape_rules/strides.h"

#include <utility>

namespace triptych::normalize {

bool equal(SizesRef a, SizesRef b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

c10::SymInt product(SizesRef sizes) {
  c10::SymInt n = 1;
  for (const c10::SymInt& size : sizes) n *= size;
  return n;
}

namespace {

// An empty dimension counts as one, as in at::TensorImpl::empty_tensor_restride.
void step(c10::SymInt& stride, const c10::SymInt& size) {
  if (!is_value(size, 0)) stride *= size;
}

}  // namespace

Sizes contiguous_strides(SizesRef sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i];
    step(strides[i - 1], sizes[i]);
  }
  return strides;
}

Sizes strides_of_format(SizesRef sizes, at::MemoryFormat format) {
  Dims order;
  if (format == at::MemoryFormat::ChannelsLast && sizes.size() == 4) {
    order = {1, 3, 2, 0};
  } else if (format == at::MemoryFormat::ChannelsLast3d && sizes.size() == 5) {
    order = {1, 4, 3, 2, 0};
  } else {
    TORCH_CHECK(format != at::MemoryFormat::ChannelsLast,
                "required rank 4 tensor to use channels_last format");
    TORCH_CHECK(format != at::MemoryFormat::ChannelsLast3d,
                "required rank 5 tensor to use channels_last_3d format");
    return contiguous_strides(sizes);
  }
  Sizes strides(sizes.size(), 1);
  c10::SymInt stride = 1;
  for (const int64_t dim : order) {
    strides[dim] = stride;
    step(stride, sizes[dim]);
  }
  return strides;
}

Sizes dense_strides_like(SizesRef sizes, SizesRef strides) {
  // Insertion sort from the innermost dimension; ties and broadcast dimensions keep their place.
  const int64_t n = static_cast<int64_t>(sizes.size());
  Dims perm(n);
  for (int64_t i = 0; i < n; ++i) perm[i] = n - 1 - i;
  const auto should_swap = [&](int64_t dim0, int64_t dim1) {
    const c10::SymInt& stride0 = strides[dim0];
    const c10::SymInt& stride1 = strides[dim1];
    if (is_value(stride0, 0) || is_value(stride1, 0)) return 0;
    if (equal(stride0, stride1)) return sizes[dim0] > sizes[dim1] ? 1 : 0;
    return stride0 < stride1 ? -1 : 1;
  };
  for (int64_t i = 1; i < n; ++i) {
    int64_t at = i;
    for (int64_t before = i - 1; before >= 0; --before) {
      const int comparison = should_swap(perm[before], perm[at]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(perm[before], perm[at]);
      at = before;
    }
  }
  Sizes out(n, 1);
  c10::SymInt stride = 1;
  for (const int64_t dim : perm) {
    out[dim] = stride;
    if (!is_value(sizes[dim], 0) && !is_value(sizes[dim], 1)) stride *= sizes[dim];
  }
  return out;
}

bool is_contiguous(const at::Tensor& t) { return t.is_contiguous(); }

bool is_non_overlapping_and_dense(const at::Tensor& t) {
  return t.unsafeGetTensorImpl()->is_non_overlapping_and_dense();
}

Sizes strides_like(const at::Tensor& self, at::MemoryFormat format) {
  if (format != at::MemoryFormat::Preserve) return strides_of_format(self.sym_sizes(), format);
  if (is_non_overlapping_and_dense(self)) return strides_of(self);
  return dense_strides_like(self.sym_sizes(), self.sym_strides());
}

ResultMeta fresh(Sizes sizes, at::ScalarType dtype, c10::Device device) {
  ResultMeta result;
  result.strides = contiguous_strides(sizes);
  result.sizes = std::move(sizes);
  result.dtype = dtype;
  result.device = device;
  return result;
}

ResultMeta fresh_in_format(Sizes sizes, at::ScalarType dtype, c10::Device device,
                           at::MemoryFormat format) {
  ResultMeta result;
  result.strides = strides_of_format(sizes, format);
  result.sizes = std::move(sizes);
  result.dtype = dtype;
  result.device = device;
  return result;
}

ResultMeta undefined_result() {
  ResultMeta result;
  result.undefined = true;
  return result;
}

}  // namespace triptych::normalize
