#include "runtime/dtype_view.h"

#include <ATen/ops/empty.h>

namespace triptych::runtime {

at::Tensor view_of_dtype(const at::Tensor& base, c10::ScalarType dtype, at::IntArrayRef sizes,
                         at::IntArrayRef strides, std::int64_t distance) {
  const auto item = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t start =
      base.storage_offset() * static_cast<std::int64_t>(base.itemsize()) + distance;
  TORCH_CHECK(start % item == 0, "self.storage_offset() must be divisible by ",
              item / static_cast<std::int64_t>(base.itemsize()), " to view ", base.scalar_type(),
              " as ", dtype, " (different element sizes), but got ", base.storage_offset());
  at::Tensor view = at::empty({0}, base.options().dtype(dtype));
  return view.set_(base.storage(), start / item, sizes, strides);
}

}  // namespace triptych::runtime
