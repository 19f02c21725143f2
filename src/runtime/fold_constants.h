// Computes once, at compile time, what no input has a part in: masks and positions of fixed sizes,
// say. Requires: C2. Ensures: outputs keep memory of their own; random ops, custom ops and ops with
// effects stay.
//
// Results are those of the ops' own ATen kernels. What kernels can make from nothing (ranges, fills
// and pointwise arithmetic of them) is folded only where an external call needs it as a tensor: a
// fused kernel has it for less than a load. Results above a few MiB stay computed.
#pragma once

#include "ir/graph.h"

namespace triptych::runtime {

Status fold_constants(ir::Graph& graph);

}  // namespace triptych::runtime
