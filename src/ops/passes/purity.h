// May a node be dropped when unused, and computed once when met twice?
#pragma once

#include "ir/graph.h"

namespace triptych::ops {

// An op of the table without the tags random, effect and inplace, whose schema mutates nothing.
// Custom ops are not known to be pure.
bool is_pure(const ir::Target& target);

}  // namespace triptych::ops
