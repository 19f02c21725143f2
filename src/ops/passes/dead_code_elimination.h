// Drops nodes whose results nobody reads, except random ops and ops with an effect.
// Requires: C2.
#pragma once

#include "ir/graph.h"

namespace triptych::ops {

Status dead_code_elimination(ir::Graph& graph);

}  // namespace triptych::ops
