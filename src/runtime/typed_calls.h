// Calls of the most frequent external ops without boxing.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include "ir/graph.h"

namespace triptych::runtime {

// Calls the op on its tensor arguments, out arguments last.
using TypedCall = void (*)(const at::Tensor* const* tensors);

// nullptr when the op, or this use of it, has no typed call.
TypedCall find_typed_call(const ir::Target& target, const std::vector<ir::Argument>& args);

}  // namespace triptych::runtime
