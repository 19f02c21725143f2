// Transcendental functions. f32: exp, sigmoid, tanh, erf and log inline, within about one unit in the last
// place; the others, and f64, by vector functions of SLEEF (named in Module::externals; PyTorch ships them) or
// by libm, lane by lane.
#pragma once

#include <string>
#include <vector>

#include "codegen/loops/scalar_op.h"
#include "codegen/mapping/traits.h"
#include "codegen/writers/llvm/ir_text.h"

namespace triptych::writers::llvm {

// Whether `op` is one of the functions below (on f32 and f64).
bool is_math_function(loops::ScalarOp op);

// `args` have the type of `ops`.
std::string math_function(Ops& ops, const mapping::Traits& traits, loops::ScalarOp op,
                          const std::vector<std::string>& args);

}  // namespace triptych::writers::llvm
