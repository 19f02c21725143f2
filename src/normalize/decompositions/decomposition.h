// Decompositions: ordinary ATen functions in C++, run under the tracer, so that what they call is
// recorded. The op table names each op's decomposition.
#pragma once

#include <string_view>

#include <ATen/core/boxing/KernelFunction.h>

namespace triptych::normalize {

// By the name in the op table's `decompose` column; nullptr when there is no such decomposition.
const c10::KernelFunction* find_decomposition(std::string_view name);

}  // namespace triptych::normalize
