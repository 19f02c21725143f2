// Facts of a tensor of few dimensions, none symbolic, in one piece of memory: a model has hundreds
// of parameters, each compared at each call.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "capture/guards/guard.h"

namespace triptych::capture {

class CompactFacts {
 public:
  static std::optional<CompactFacts> of(const TensorFacts& facts);
  bool match(PyObject* object) const;

 private:
  static constexpr std::size_t kMostDimensions = 4;
  PyTypeObject* type_ = nullptr;  // the TensorFacts keep it alive
  std::uint64_t dispatch_keys_ = 0;
  std::int8_t dtype_ = 0, device_type_ = 0, device_index_ = 0;
  bool requires_grad_ = false;
  std::uint32_t rank_ = 0;
  std::array<std::int64_t, kMostDimensions> sizes_{}, strides_{};
};

}  // namespace triptych::capture
