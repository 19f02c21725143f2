// Passes over one kernel that keep its meaning: what fusion leaves behind is tidied here.
#pragma once

#include <functional>

#include "codegen/loops/kernel.h"

namespace triptych::loops {

// Removes stores to buffers for which `keep` is false.
void remove_stores(Kernel& kernel, const std::function<bool(BufferId)>& keep);

// cast(cast(x: f32 -> f16 or bf16) -> f32) is x: values of a fused kernel are not rounded in
// between (docs: numerics). Not to be run when eager's rounding is asked for.
void remove_rounding(Kernel& kernel);

// Equal pure instructions in one scope are computed once; loads of inputs too.
void eliminate_common(Kernel& kernel);

// Loads of a local that follow its store at the same index become the stored scalar; locals nobody
// loads vanish.
void forward_locals(Kernel& kernel);

// Neighbouring loops of equal extent over shared data become one loop where no iteration needs
// another's result.
void merge_sibling_loops(Kernel& kernel);

// Instructions, reductions, loops that nothing uses.
void eliminate_dead(Kernel& kernel);

// Buffers nothing uses are dropped; the others come in order of first use: inputs, outputs,
// workspace, locals. Returns for each new buffer its old id.
std::vector<BufferId> order_buffers(Kernel& kernel);

}  // namespace triptych::loops
