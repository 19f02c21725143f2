// One scalar operation on plain values: the meaning of ScalarOp, for the interpreter and constant
// folding. Total: no argument traps. Transcendental functions of f32 are computed in double and
// rounded once.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/loops/kernel.h"

namespace triptych::loops {

// A value of some dtype: floats in `number` (already rounded to the dtype), bool and integers in
// `integer` (already wrapped to the dtype; u64 as its bits).
struct ScalarValue {
  double number = 0;
  std::int64_t integer = 0;
};

// To what `dtype` holds: floats rounded (f16 and bf16 through f32, as ATen does), integers wrapped.
double rounded(double value, DType dtype);
std::int64_t wrapped(std::int64_t value, DType dtype);

// Arguments have dtypes `arg_types`; the result has `dtype`. Not for leaves.
ScalarValue evaluate(ScalarOp op, DType dtype, std::span<const ScalarValue> args,
                     std::span<const DType> arg_types);
ScalarValue convert(ScalarValue value, DType from, DType to);  // kCast
ScalarValue constant_value(const Instruction& instruction);    // kConstant

ScalarValue load_scalar(const void* data, std::int64_t index, DType dtype);
void store_scalar(void* data, std::int64_t index, DType dtype, ScalarValue value);

}  // namespace triptych::loops
