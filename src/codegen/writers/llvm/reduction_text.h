// Accumulators of reductions: what they start from, how a value goes in, how two of them become
// one.
#pragma once

#include <string>
#include <vector>

#include "codegen/loops/kernel.h"
#include "codegen/writers/llvm/ir_text.h"

namespace triptych::writers::llvm {

// The registers of one accumulator: value | value, index (i64) | mean, m2, count.
using Accumulator = std::vector<Operand>;

Accumulator identity(const loops::Reduction& reduction, int lanes);
// `position` (i64) is read by argmin and argmax only. Where `mask` is given, lanes off keep their
// value.
Accumulator accumulate(Code& code, const loops::Reduction& reduction, const Accumulator& before,
                       const Operand& value, const Operand& position, const std::string& mask);
Accumulator merge(Code& code, const loops::Reduction& reduction, const Accumulator& a,
                  const Accumulator& b);
// All lanes into one, by halves.
Accumulator reduce_lanes(Code& code, const loops::Reduction& reduction, Accumulator lanes);
// The reduction's results (without Welford's count).
std::vector<Operand> results(Code& code, const loops::Reduction& reduction,
                             const Accumulator& last);

}  // namespace triptych::writers::llvm
