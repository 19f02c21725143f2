// Transcendental functions. Inline: exp and log of f32 (within one unit in the last place), tanh
// and erf of f32 (within 3e-7 of the value), sigmoid and exp of f64. The others by vector functions
// of SLEEF, which PyTorch ships and which are named in Module::externals, or by libm, lane by lane.
#pragma once

#include <string>
#include <vector>

#include "codegen/loops/scalar_op.h"
#include "codegen/mapping/traits.h"
#include "codegen/writers/llvm/ir_text.h"

namespace triptych::writers::llvm {

// `op` is transcendental, or kFmod; `args` have the type of `ops`, f32 or f64.
std::string math_function(Ops& ops, const mapping::Traits& traits, loops::ScalarOp op,
                          const std::vector<std::string>& args);

}  // namespace triptych::writers::llvm
