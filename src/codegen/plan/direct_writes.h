// Mutated inputs that a kernel writes itself, so that no copy at the end has to.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/plan/program.h"

namespace triptych::plan {

// Marks such mutations in `program.direct_mutations`; the new contents become a view of the input.
// `last_uses` is, per slot, the last step that reads its memory, or the number of steps. Requires
// steps without FreeSteps. A mutation qualifies when
//  1. its contents fill memory of their own, are made by one kernel and have the input's dtype,
//     sizes and strides;
//  2. nothing reads the input's memory behind that kernel, and the kernel itself may share the two
//     (in_place.h);
//  3. nothing can fail from the first such write on, so that inputs never change half: no kernel of
//     the program has checks, and no external op follows.
// Inputs that overlap others are refused at the call's entry.
void write_inputs_directly(Program& program, const std::vector<std::uint32_t>& last_uses);

}  // namespace triptych::plan
