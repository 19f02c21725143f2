// One scalar operation as LLVM IR, on all lanes. The meaning is loops/scalar_eval.cpp's: nothing
// here is undefined behaviour for any argument.
#pragma once

#include <vector>

#include "codegen/loops/kernel.h"
#include "codegen/mapping/traits.h"
#include "codegen/writers/llvm/ir_text.h"

namespace triptych::writers::llvm {

// Not for leaves. All `args` have `lanes` lanes; the result is emitted at `level`.
std::string scalar_op(Code& code, const mapping::Traits& traits, loops::ScalarOp op, DType dtype,
                      const std::vector<Operand>& args, int lanes, int level);

// Tensor.to(dtype).
std::string cast(Code& code, const mapping::Traits& traits, const Operand& value, DType to,
                 int level);

// The larger or smaller of two; a NaN wins. For floats `b` is on the critical path of a reduction.
std::string min_max(Ops& ops, bool max, const std::string& a, const std::string& b);

}  // namespace triptych::writers::llvm
