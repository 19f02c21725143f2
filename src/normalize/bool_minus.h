// The `-` of bool tensors, which PyTorch refuses: with another type of exception from 2.14 on.
#pragma once

#include <c10/util/Exception.h>
#include <torch/version.h>

namespace triptych::normalize {

inline void check_minus(bool allowed, const char* message) {
  constexpr bool kNotImplemented = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 14;
  if constexpr (kNotImplemented) {
    TORCH_CHECK_NOT_IMPLEMENTED(allowed, message);
  } else {
    TORCH_CHECK(allowed, message);
  }
}

}  // namespace triptych::normalize
