// Ops whose own kernels hide from the tracer what a program needs.
#pragma once

namespace triptych::normalize {

// Once per process, for the time of a trace only:
//  - `native_batch_norm` writes the running statistics without saying so in its schema.
//  Functionalization gets the ops
//    that say it, so that the statistics become written inputs of the program.
//  - the upsamplings of core ATen are composite kernels over plain integers, which symbolic sizes
//  are not. They come
//    to the tracer whole.
void register_composites();

}  // namespace triptych::normalize
