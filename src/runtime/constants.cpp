#include "runtime/constants.h"

#include <ATen/EmptyTensor.h>

#include <cstring>

#include "runtime/errors.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {

at::Tensor constant_tensor(const ir::Constant& constant, const ir::TensorType& type) {
  if (constant.handle) return *static_cast<const at::Tensor*>(constant.handle.get());
  if (!constant.bytes) {
    fail(user_error("runtime.constant_bytes", "constant %" + constant.name + " has no bytes", {},
                    "give the file of constants that belongs to the text"));
  }
  std::vector<std::int64_t> sizes;
  for (const ir::SymExpr& size : type.sizes) sizes.push_back(size.constant());
  at::Tensor tensor(at::detail::empty_cpu(sizes, to_torch(type.dtype)));
  if (tensor.nbytes() != constant.bytes->size()) {
    fail(internal_error("runtime.constant_bytes", "constant %" + constant.name + " has " +
                                                      std::to_string(constant.bytes->size()) +
                                                      " bytes, expected " +
                                                      std::to_string(tensor.nbytes())));
  }
  if (!constant.bytes->empty()) {
    std::memcpy(tensor.mutable_data_ptr(), constant.bytes->data(), constant.bytes->size());
  }
  return tensor;
}

}  // namespace triptych::runtime
