// Computes equal values once: a later pure node with the same target and arguments is replaced by
// the first. Requires: C2. Ensures: outputs keep their own memory, so a node whose result is an
// output, or is written back to an input, is not replaced.
#pragma once

#include "ir/graph.h"

namespace triptych::ops {

Status common_subexpression_elimination(ir::Graph& graph);

}  // namespace triptych::ops
