// What each opcode does: one function per opcode, in the files of this folder's `semantics/`. Each
// takes its operands from the activation's stack and pushes its results, with real objects and by
// CPython's public functions.
#pragma once

#include "capture/interpreter/activation.h"
#include "capture/interpreter/opcode_facts.h"

namespace triptych::capture {

using Semantics = Flow (*)(Activation&, const Instruction&);

namespace semantics {

extern const Semantics kSemantics[kOpCount];

inline Flow run(Activation& activation, const Instruction& instruction) {
  return kSemantics[static_cast<int>(instruction.op)](activation, instruction);
}

}  // namespace semantics
}  // namespace triptych::capture
