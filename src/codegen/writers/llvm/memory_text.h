// Loads and stores: contiguous vectors (masked at the end of a loop), gathers and scatters,
// scalars. Bytes of bool become i1, f16 and bf16 travel as i16.
#pragma once

#include "codegen/writers/llvm/index_text.h"

namespace triptych::writers::llvm {

Operand load(Scope& scope, BufferId buffer, const SymExpr& index, int u);
void store(Scope& scope, BufferId buffer, const SymExpr& index, const Operand& value, int u);

}  // namespace triptych::writers::llvm
