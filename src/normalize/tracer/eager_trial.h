// What eager refuses for a dtype or a number ("abs_cpu" not implemented for 'Bool', a bound of
// clamp that overflows int8), found out by asking eager: the op's own kernel runs on small tensors
// of the same dtypes, and its exception is the program's.
#pragma once

#include "normalize/tracer/op_entry.h"
#include "normalize/tracer/symbolic_shapes.h"

namespace triptych::normalize {

// Runs `op` on tensors with two elements in each dimension, unless it has accepted the same dtypes,
// ranks and numbers before. Throws what the kernel throws. Does nothing for an op whose arguments
// do not stay valid at such sizes (op_entry.h: `tried`), and for tensors that are not the CPU's.
void try_in_eager(const OpEntry& op, c10::ArrayRef<c10::IValue> args, const SymbolicShapes& shapes);

// `op` writes what `functional` returns into its further arguments: throws what eager throws for
// their dtypes. Both run on such tensors; what the functional form refuses there says nothing.
void try_out_in_eager(const OpEntry& op, const OpEntry& functional, c10::ArrayRef<c10::IValue> args,
                      const SymbolicShapes& shapes);

}  // namespace triptych::normalize
