// One decoded instruction.
#pragma once

#include <cstdint>

#include "capture/interpreter/opcode_table.h"

namespace triptych::capture {

struct Instruction {
  Op op = Op::kUnknown;
  std::uint8_t flags = 0;
  // CPython can go on here: not in the middle of a pair, nor between KW_NAMES and its CALL.
  bool boundary = true;
  std::int32_t arg = 0;
  std::int32_t kwnames = -1;  // CALL: index of the constant with the keyword names
  std::int32_t target = -1;   // jumps: index of the instruction there
  std::int32_t start = 0;     // code unit of the first EXTENDED_ARG, or of the instruction
  std::int32_t unit = 0;      // code unit of the instruction itself
};

}  // namespace triptych::capture
