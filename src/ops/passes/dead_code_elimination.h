// Drops nodes whose results nobody reads, except random ops, ops with an effect and ops that raise
// for some numbers. Requires: C2.
#pragma once

#include "ir/graph.h"

namespace triptych::ops {

Status dead_code_elimination(ir::Graph& graph);

}  // namespace triptych::ops
