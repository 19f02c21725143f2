// May a node be computed once when met twice, and dropped when unused?
#pragma once

#include "ir/graph.h"

namespace triptych::ops {

// An op of the table without the tags random, effect and inplace, whose schema mutates nothing.
// Custom ops are not known to be pure.
bool is_pure(const ir::Target& target);

// Whether a call may end with an exception here, for the numbers that it has got: an index out of
// bounds, an integer divided by zero, a matrix that has no inverse.
bool may_raise(const ir::Graph& graph, const ir::Node& node);

}  // namespace triptych::ops
