// One scalar operation as a C++ expression.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/loops/kernel.h"

namespace triptych::writers::cpp {

using ir::DType;

// C++ types: of a variable and of an element in memory (bool: std::uint8_t; f16 and bf16: their
// bits).
std::string variable_type(DType dtype);
std::string memory_type(DType dtype);

std::string constant_text(DType dtype,
                          const std::variant<std::monostate, bool, std::int64_t, double>& value);
// `value` as `to`, which prints exactly.
std::string float_text(DType dtype, double value);

// Not for leaves. `uses` gets the names of the prelude's functions in the text.
std::string operation_text(loops::ScalarOp op, DType dtype, const std::vector<std::string>& args,
                           const std::vector<DType>& arg_types, std::set<std::string>& uses);

}  // namespace triptych::writers::cpp
