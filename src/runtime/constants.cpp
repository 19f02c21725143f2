#include "runtime/constants.h"

#include <ATen/EmptyTensor.h>

#include <cstring>

#include "runtime/errors.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {
namespace {

std::vector<std::int64_t> numbers(const std::vector<ir::SymExpr>& list) {
  std::vector<std::int64_t> out;
  for (const ir::SymExpr& item : list) out.push_back(item.constant());
  return out;
}

std::size_t element_count(const std::vector<std::int64_t>& sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

// Elements in contiguous order to where strides put them. Several may meet in one place (an
// expanded constant): they are equal there.
void scatter(const std::byte* from, std::byte* to, const std::vector<std::int64_t>& sizes,
             const std::vector<std::int64_t>& strides, std::size_t item) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t k = 0, count = element_count(sizes); k < count; ++k, from += item) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) place += index[d] * strides[d];
    std::memcpy(to + static_cast<std::size_t>(place) * item, from, item);
    for (std::size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
}

}  // namespace

at::Tensor constant_tensor(const ir::Constant& constant, const ir::TensorType& type) {
  if (constant.handle) return *static_cast<const at::Tensor*>(constant.handle.get());
  if (!constant.bytes) {
    fail(user_error("runtime.constant_bytes", "constant %" + constant.name + " has no bytes", {},
                    "give the file of constants that belongs to the text"));
  }
  const std::vector<std::int64_t> sizes = numbers(type.sizes), strides = numbers(type.strides);
  const std::int64_t offset = type.storage_offset.constant();
  const std::size_t item = c10::elementSize(to_torch(type.dtype));
  const std::size_t count = element_count(sizes);
  if (count * item != constant.bytes->size()) {
    fail(internal_error("runtime.constant_bytes", "constant %" + constant.name + " has " +
                                                      std::to_string(constant.bytes->size()) +
                                                      " bytes, expected " +
                                                      std::to_string(count * item)));
  }
  std::int64_t extent = count == 0 ? 0 : 1;
  for (std::size_t d = 0; d < sizes.size() && count != 0; ++d)
    extent += (sizes[d] - 1) * strides[d];
  at::Tensor storage(at::detail::empty_cpu({offset + extent}, to_torch(type.dtype)));
  if (count != 0) {
    auto* start = static_cast<std::byte*>(storage.mutable_data_ptr());
    std::memset(start, 0, storage.nbytes());
    scatter(constant.bytes->data(), start + static_cast<std::size_t>(offset) * item, sizes, strides,
            item);
  }
  storage.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return storage;
}

void add_constant_bytes(std::vector<ir::Constant>& constants) {
  for (ir::Constant& constant : constants) {
    if (constant.bytes != nullptr || constant.handle == nullptr) continue;
    const at::Tensor tensor = static_cast<const at::Tensor*>(constant.handle.get())->detach();
    const at::Tensor flat = tensor.cpu().contiguous();
    const auto* data = static_cast<const std::byte*>(flat.const_data_ptr());
    constant.bytes = std::make_shared<const std::vector<std::byte>>(data, data + flat.nbytes());
  }
}

}  // namespace triptych::runtime
