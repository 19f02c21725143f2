// The C++ meta kernels of structured ops (at::meta::X), boxed: the net below our own shape rules.
// The Meta dispatch key itself is no net: importing torch puts Python kernels there for most ops.
#pragma once

#include <string_view>

#include <ATen/core/boxing/KernelFunction.h>

namespace triptych::normalize {

const c10::KernelFunction* find_structured_meta(
    std::string_view name);  // nullptr when there is none

}  // namespace triptych::normalize
