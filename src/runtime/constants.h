// Tensor constants of graphs.
#pragma once

#include <ATen/core/Tensor.h>

#include "ir/graph.h"

namespace triptych::runtime {

// The tensor of a constant: the one that its handle holds, else a new one over its bytes.
at::Tensor constant_tensor(const ir::Constant& constant, const ir::TensorType& type);

}  // namespace triptych::runtime
