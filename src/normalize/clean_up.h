// Removes nodes whose results nobody reads. Random ops and ops with an effect stay. Functionalization leaves such nodes
// behind (views replayed on every update).
#pragma once

#include "ir/graph.h"

namespace triptych::normalize {

void remove_dead_nodes(ir::Graph& graph);

}  // namespace triptych::normalize
