// Transcendental functions. f32: exp, sigmoid, tanh, erf and log inline, within about one unit in the last
// place, and exp and sigmoid of f64; the others by vector functions of SLEEF (named in Module::externals; PyTorch ships them) or
// by libm, lane by lane.
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
