// What CPython's tables say of its raw opcodes, in terms of ours. Generated; see opcodes.toml.
#pragma once

#include "capture/interpreter/opcode_table.h"

namespace triptych::capture {

struct OpcodeFact {
  Op op = Op::kUnknown;
  Op second = Op::kUnknown;  // the other half of a pair
  bool pair = false;
  std::uint8_t caches = 0;  // code units that follow the instruction
  std::uint8_t shift = 0;
  std::uint8_t flag_mask = 0;
  std::uint8_t flag_set = 0;
  std::int8_t jump = 0;   // direction of a relative jump, 0: no jump
  std::uint8_t skip = 0;  // code units that the jump goes beyond its own target
};

extern const OpcodeFact kOpcodeFacts[256];
extern const char* const kOpNames[kOpCount];
extern const bool kOpLeaves[kOpCount];
// Our opcode of each intrinsic function's number.
extern const Op kCallIntrinsic1[];
extern const Op kCallIntrinsic2[];
extern const int kCallIntrinsic1Count;
extern const int kCallIntrinsic2Count;
// Raw opcodes that the decoder itself knows; -1 where a version has none.
extern const int kRawExtendedArg;
extern const int kRawKwNames;
extern const int kRawCallIntrinsic1;
extern const int kRawCallIntrinsic2;

}  // namespace triptych::capture
