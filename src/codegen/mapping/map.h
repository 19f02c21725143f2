// Lays the kernels of a program onto a machine family. The result's kernels obey M1-M4 of kernel.h.
#pragma once

#include "codegen/loops/loop_program.h"
#include "codegen/mapping/traits.h"

namespace triptych::mapping {

// May split a kernel in two (partial results of a long reduction in a workspace value that is added
// to the graph), or one with several independent loop nests into one kernel per nest.
Result<loops::LoopProgram> map_to_machine(loops::LoopProgram program, const Traits& traits);

}  // namespace triptych::mapping
