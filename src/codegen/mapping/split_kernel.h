// Makes several kernels of one, where a single one would leave cores idle.
#pragma once

#include <vector>

#include "codegen/loops/loop_program.h"

namespace triptych::mapping {

// A long reduction with few rows around it becomes a kernel of partial results over chunks, in a
// workspace value added to `graph`, and one that combines them:
//
//   s = sum(x[i] for i in 1000000)    ->    p[c] = sum(x[i] for i in chunk c);  s = sum(p[c])
//
// Independent loop nests side by side (concatenation) become one nest where their loops agree, else
// a kernel each when they are large. Returns the kernels in order; one when nothing is to be split.
std::vector<loops::KernelItem> split_kernel(loops::KernelItem item, ir::Graph& graph);

}  // namespace triptych::mapping
