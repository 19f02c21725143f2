// `aten::native_batch_norm` writes the running statistics without saying so in its schema.
#pragma once

namespace triptych::normalize {

// Gives functionalization the ops that say it: `_native_batch_norm_legit` in training, so that the statistics become
// written inputs of the program.
void register_batch_norm_functionalization();

}  // namespace triptych::normalize
