// The value of a constant instruction as writers spell it.
#pragma once

#include <cstdint>
#include <variant>

#include "ir/dtype.h"

namespace triptych::writers {

struct ConstantValue {
  double real = 0;           // of floats, and the truth of bools
  std::int64_t integer = 0;  // of integers
};

ConstantValue constant_value(ir::DType dtype,
                             const std::variant<std::monostate, bool, std::int64_t, double>& given);

}  // namespace triptych::writers
