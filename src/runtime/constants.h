// Tensor constants of graphs and programs: from their bytes, or the tensor that tracing met.
#pragma once

#include <ATen/core/Tensor.h>

#include "ir/graph.h"

namespace triptych::runtime {

// Of the type's strides and offset, whatever memory stands between the elements. Raises when the
// constant has neither bytes nor a tensor.
at::Tensor constant_tensor(const ir::Constant& constant, const ir::TensorType& type);

// Puts the bytes at hand of constants that are kept as tensors alone.
void add_constant_bytes(std::vector<ir::Constant>& constants);

}  // namespace triptych::runtime
