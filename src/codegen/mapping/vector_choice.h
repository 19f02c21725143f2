// Which loop becomes the vector loop, how many lanes, how many vectors at a time.
#pragma once

#include "codegen/loops/loop_tree.h"
#include "codegen/mapping/traits.h"

namespace triptych::mapping {

// Lanes for the statements of `body`: as many of the widest element computed with as a vector
// holds. Index arithmetic in i64 beside floats does not count.
int vector_width(const loops::Kernel& kernel, const loops::Body& body, const Traits& traits);

// Independent vectors per iteration: more for light bodies, whose latency nothing else hides.
int unroll_factor(const loops::Body& body, bool reduces);

// How well the accesses of `body` run when `variable` is the vector loop; larger is better. Unit
// stride is good, uniform is free, other strides and loaded indices are gathers.
int vector_score(const loops::Body& body, loops::Symbol variable);

// The same for each loop of a nest around straight-line code, each access weighed by the elements
// it moves: parameters of a channel do not outvote the tensor.
std::vector<int> nest_scores(const loops::Nest& nest);

}  // namespace triptych::mapping
