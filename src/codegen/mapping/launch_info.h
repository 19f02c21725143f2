// What a launcher and a writer must know about a mapped kernel beyond its text.
#pragma once

#include "codegen/loops/kernel.h"

namespace triptych::mapping {

struct LaunchInfo {
  loops::SymExpr parallel_extent;  // iterations of the kParallel loop; 1 when there is none
  // Work of one iteration of it, in picoseconds on one core of a common CPU; a launcher stays
  // serial while parallel_extent * cost is below what a parallel region costs, and sizes its chunks
  // by it.
  loops::SymExpr iteration_cost_ps;
  int chunk_multiple = 1;        // chunks begin at multiples of this: whole vectors
  loops::SymExpr scratch_bytes;  // of one running chunk; 0 when the kernel has no locals
};
LaunchInfo launch_info(const loops::Kernel& mapped);

// Byte offset of each local in the scratch memory, in the order of the locals; multiples of 64.
std::vector<loops::SymExpr> local_offsets(const loops::Kernel& kernel);

}  // namespace triptych::mapping
