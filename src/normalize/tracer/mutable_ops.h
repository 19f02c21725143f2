// Custom ops that write their arguments (`torch.library.custom_op` with `mutates_args`).
// Functionalization knows ATen's own alone; these get a functional twin that writes copies instead
// and returns them, as one op more in PyTorch's dispatcher:
//
//   mylib::add_into(Tensor(a!) x, Tensor y) -> Tensor
//   triptych_functional::mylib__add_into(Tensor x, Tensor y) -> (Tensor, Tensor)
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace triptych::normalize {

// Once per process: from now on the dispatcher tells of each new op.
void watch_mutable_ops();

// Before a trace: the ops that have been registered since are caught on the composite key.
void catch_mutable_ops();

}  // namespace triptych::normalize
