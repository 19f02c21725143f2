// Factories over full, empty and arange.
#include <ATen/ops/arange.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

using Dtype = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Device = std::optional<at::Device>;
using Pin = std::optional<bool>;
using Format = std::optional<at::MemoryFormat>;

// full takes its dtype from the value unless one is given.
Dtype or_default(Dtype dtype) {
  return dtype ? dtype : c10::typeMetaToScalarType(c10::get_default_dtype());
}

Tensor zeros(c10::SymIntArrayRef size, Dtype dtype, Layout layout, Device device, Pin pin) {
  return at::full_symint(size, 0, or_default(dtype), layout, device, pin);
}

Tensor ones(c10::SymIntArrayRef size, Dtype dtype, Layout layout, Device device, Pin pin) {
  return at::full_symint(size, 1, or_default(dtype), layout, device, pin);
}

Tensor zeros_like(const Tensor& self, Dtype dtype, Layout layout, Device device, Pin pin,
                  Format format) {
  return at::full_like(self, 0, dtype, layout, device, pin, format);
}

Tensor ones_like(const Tensor& self, Dtype dtype, Layout layout, Device device, Pin pin,
                 Format format) {
  return at::full_like(self, 1, dtype, layout, device, pin, format);
}

// Uninitialised, dense in the order of self unless a format is asked for.
Tensor empty_like(const Tensor& self, Dtype dtype, Layout layout, Device device, Pin pin,
                  Format format) {
  const Sizes strides = strides_like(self, format.value_or(at::MemoryFormat::Preserve));
  return at::empty_strided_symint(self.sym_sizes(), strides, dtype ? dtype : self.scalar_type(),
                                  layout, device ? device : self.device(), pin);
}

Tensor empty_permuted(c10::SymIntArrayRef size, at::IntArrayRef order, Dtype dtype, Layout layout,
                      Device device, Pin pin) {
  TORCH_CHECK(order.size() == size.size(),
              "Number of dimensions in size does not match the length of the physical_layout; "
              "i.e. len(size) = ",
              size.size(), " is not equal to len(physical_layout) = ", order.size());
  Sizes physical;
  for (const int64_t dim : order) physical.push_back(size[dim]);
  const Sizes dense = contiguous_strides(physical);
  Sizes strides(size.size(), 1);
  for (std::size_t i = 0; i < order.size(); ++i) strides[order[i]] = dense[i];
  return at::empty_strided_symint(size, strides, dtype, layout, device, pin);
}

Tensor zero(const Tensor& self) { return at::full_like(self, 0); }

Dtype dtype_of(const Tensor& self, Dtype dtype) { return dtype ? dtype : self.scalar_type(); }
Device device_of(const Tensor& self, Device device) { return device ? device : self.device(); }

Tensor new_full(const Tensor& self, c10::SymIntArrayRef size, const Scalar& value, Dtype dtype,
                Layout layout, Device device, Pin pin) {
  return at::full_symint(size, value, dtype_of(self, dtype), layout, device_of(self, device), pin);
}

Tensor new_zeros(const Tensor& self, c10::SymIntArrayRef size, Dtype dtype, Layout layout,
                 Device device, Pin pin) {
  return new_full(self, size, 0, dtype, layout, device, pin);
}

Tensor new_ones(const Tensor& self, c10::SymIntArrayRef size, Dtype dtype, Layout layout,
                Device device, Pin pin) {
  return new_full(self, size, 1, dtype, layout, device, pin);
}

Tensor new_empty(const Tensor& self, c10::SymIntArrayRef size, Dtype dtype, Layout layout,
                 Device device, Pin pin) {
  return at::empty_symint(size, dtype_of(self, dtype), layout, device_of(self, device), pin,
                          std::nullopt);
}

Tensor new_empty_strided(const Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                         Dtype dtype, Layout layout, Device device, Pin pin) {
  return at::empty_strided_symint(size, stride, dtype_of(self, dtype), layout,
                                  device_of(self, device), pin);
}

Tensor arange(const Scalar& end, Dtype dtype, Layout layout, Device device, Pin pin) {
  return at::arange(0, end, 1, dtype, layout, device, pin);
}

Tensor arange_start(const Scalar& start, const Scalar& end, Dtype dtype, Layout layout,
                    Device device, Pin pin) {
  return at::arange(start, end, 1, dtype, layout, device, pin);
}

Tensor counting(const c10::SymInt& end, const at::TensorOptions& options) {
  return at::arange(0, Scalar(end), 1, options.dtype(at::kLong));
}

// Ones where row and column number agree.
Tensor eye_m(c10::SymInt rows, c10::SymInt columns, Dtype dtype, Layout layout, Device device,
             Pin pin) {
  TORCH_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
  TORCH_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
  const auto options =
      at::TensorOptions().dtype(or_default(dtype)).layout(layout).device(device).pinned_memory(pin);
  const Tensor diagonal = at::eq(counting(rows, options).unsqueeze(1), counting(columns, options));
  return to_dtype(diagonal, *or_default(dtype));
}

Tensor eye(c10::SymInt n, Dtype dtype, Layout layout, Device device, Pin pin) {
  return eye_m(n, n, dtype, layout, device, pin);
}

// column - row over the last two dimensions
Tensor diagonal_number(const Tensor& self) {
  const auto options = at::TensorOptions().device(self.device());
  return at::sub(counting(self.sym_size(-1), options),
                 counting(self.sym_size(-2), options).unsqueeze(1));
}

void check_matrix(const Tensor& self, const char* name) {
  TORCH_CHECK(self.dim() >= 2, name, ": input tensor must have at least 2 dimensions");
}

Tensor masked(const Tensor& self, const Tensor& keep) {
  return at::where(keep, self, number_like(self, 0)).contiguous();
}

Tensor tril(const Tensor& self, c10::SymInt diagonal) {
  check_matrix(self, "tril");
  return masked(self, at::le(diagonal_number(self), Scalar(diagonal)));
}

Tensor triu(const Tensor& self, c10::SymInt diagonal) {
  check_matrix(self, "triu");
  return masked(self, at::ge(diagonal_number(self), Scalar(diagonal)));
}

}  // namespace

std::vector<NamedDecomposition> factory_decompositions() {
  return {
      decomposition("arange", arange),
      decomposition("arange_start", arange_start),
      decomposition("empty_like", empty_like),
      decomposition("empty_permuted", empty_permuted),
      decomposition("eye", eye),
      decomposition("eye_m", eye_m),
      decomposition("new_empty", new_empty),
      decomposition("new_empty_strided", new_empty_strided),
      decomposition("new_full", new_full),
      decomposition("new_ones", new_ones),
      decomposition("new_zeros", new_zeros),
      decomposition("ones", ones),
      decomposition("ones_like", ones_like),
      decomposition("tril", tril),
      decomposition("triu", triu),
      decomposition("zero", zero),
      decomposition("zeros", zeros),
      decomposition("zeros_like", zeros_like),
  };
}

}  // namespace triptych::normalize
