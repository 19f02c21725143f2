// Ops whose own kernels hide from the tracer what a program needs.
#pragma once

namespace triptych::normalize {

// Once per process: `native_batch_norm` writes the running statistics without saying so in its
// schema. Functionalization gets the ops that say it, so that the statistics become written inputs
// of the program.
void register_composites();

}  // namespace triptych::normalize
