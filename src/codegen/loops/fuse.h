// Fuses kernels of a program and drops dead work. The rules of legality are in fusion/legality.h,
// what pays in fusion/profitability.h, both explained in docs/fusion.md.
#pragma once

#include <string>
#include <vector>

#include "codegen/loops/loop_program.h"
#include "codegen/mapping/traits.h"

namespace triptych::loops {

// One decision: kernels named after the graph values they compute.
struct FusionDecision {
  std::string producer, consumer;
  bool fused = false;
  std::string reason;
};

struct FuseOptions {
  bool fuse = true;             // false: only drop dead work and tidy each kernel
  bool eager_rounding = false;  // round f16 and bf16 intermediates as eager does
  std::vector<FusionDecision>* log = nullptr;
};

Result<LoopProgram> fuse(LoopProgram program, const mapping::Traits& traits,
                         const FuseOptions& options = {});

}  // namespace triptych::loops
