// Calls of an op's own ATen kernel.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "ir/graph.h"

namespace triptych::runtime {

// The dispatcher's handle of a target ("aten.mm.default"). Throws ProgramError (unsupported) when
// it is not registered in this process.
c10::OperatorHandle find_operator(const ir::Target& target);

// The results of a boxed call, Tensor[] results flattened, None for undefined ones.
void flatten_results(torch::jit::Stack& stack, std::vector<c10::IValue>& results);

// While it lives, ops run as inside a kernel: no autograd, no version counting, no autocast. Costs
// 5 ns.
struct KernelMode {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  at::NoGradGuard no_grad;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

}  // namespace triptych::runtime
