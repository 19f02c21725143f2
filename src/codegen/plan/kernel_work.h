// How much a kernel does, as a formula over its size symbols.
#pragma once

#include "codegen/loops/kernel.h"

namespace triptych::plan {

// Scalar operations of all iterations together, in units of one addition; a load or store counts as one.
ir::SymExpr kernel_work(const loops::Kernel& kernel);

// The outermost parallel loop, whose extent the launcher splits among threads; nullptr when there is none.
const loops::Loop* parallel_loop(const loops::Kernel& kernel);

// Bytes of scratch memory that one running copy of the kernel needs: its locals one behind the other, each
// at a multiple of 64 bytes.
ir::SymExpr scratch_bytes(const loops::Kernel& kernel);

}  // namespace triptych::plan
