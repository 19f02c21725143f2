// The table of scalar operations. Each row states what eager ATen does on the CPU where C++ would
// leave a result undefined or surprising; the interpreter and every writer follow these statements.
//
// Casts (kCast)
//   float to bool:        x != 0, so NaN is true
//   float to i64 or u8:   truncation to i64; out of range and NaN give INT64_MIN; u8 takes the low
//   8 bits float to i8 i16 i32:  truncation to i32; out of range and NaN give INT32_MIN; low 8 or
//   16 bits are taken int to narrower int:  the low bits float to float:       to nearest, ties to
//   even; bf16 keeps subnormals
// Integers
//   add sub mul neg:      wrap around. abs(INT_MIN) is INT_MIN
//   floor_div trunc_div remainder fmod: a zero divisor is caught by a Check before; the instruction
//   itself then
//                         yields 0, so that a masked or late lane is harmless. INT_MIN / -1 is
//                         INT_MIN, its remainder 0
//   pow:                  by squaring, wrapping; a negative exponent gives 1 for base 1, 1 or -1
//   for base -1, else 0 shift_left:           0 when the count is negative or at least the width
//   shift_right:          arithmetic for signed; a count negative or too large fills with the sign
//   (unsigned: 0)
// Floats
//   min max:              NaN if either operand is NaN; fmin fmax: the other operand. Of equal
//                         operands, two zeros too, the first
//   floor_div:            Python's: m = fmod(a, b), d = (a - m) / b, less one when m
//   is nonzero and of another sign
//                         than b; then f = floor(d), plus one when d - f > 0.5; a zero takes the
//                         sign of a / b; b == 0 gives a / b
//   remainder:            fmod, plus b when nonzero and of another sign than b; fmod: C's
//   trunc_div:            trunc(a / b)
//   sign:                 0 for 0; NaN gives 0 (as (0 < x) - (x < 0))
//   round:                half to even
//   sigmoid:              1 / (1 + exp(-x))
#include "codegen/loops/scalar_op.h"

#include <array>

#include "support/check.h"

namespace triptych::loops {
namespace {

constexpr bool kBoolResult = true;
constexpr bool kAnyDType = false;
constexpr bool kFloats = true;

constexpr ScalarOpInfo row(ScalarOp op, std::string_view name, int arity, int cost,
                           bool floats_only = kAnyDType, bool bool_result = false) {
  return {op, name, arity, bool_result, floats_only, cost};
}

constexpr std::array kRows = {
    row(ScalarOp::kConstant, "const", -1, 0),
    row(ScalarOp::kIndex, "index", -1, 0),
    row(ScalarOp::kLoad, "load", -1, 1),
    row(ScalarOp::kCast, "cast", 1, 1),
    row(ScalarOp::kBitcast, "bitcast", 1, 0),
    row(ScalarOp::kAdd, "add", 2, 1),
    row(ScalarOp::kSub, "sub", 2, 1),
    row(ScalarOp::kMul, "mul", 2, 1),
    row(ScalarOp::kDiv, "div", 2, 6, kFloats),
    row(ScalarOp::kFloorDiv, "floor_div", 2, 12),
    row(ScalarOp::kTruncDiv, "trunc_div", 2, 10),
    row(ScalarOp::kRemainder, "remainder", 2, 12),
    row(ScalarOp::kFmod, "fmod", 2, 12),
    row(ScalarOp::kPow, "pow", 2, 40),
    row(ScalarOp::kNeg, "neg", 1, 1),
    row(ScalarOp::kAbs, "abs", 1, 1),
    row(ScalarOp::kSign, "sign", 1, 2),
    row(ScalarOp::kReciprocal, "reciprocal", 1, 6, kFloats),
    row(ScalarOp::kFma, "fma", 3, 1, kFloats),
    row(ScalarOp::kMin, "min", 2, 2),
    row(ScalarOp::kMax, "max", 2, 2),
    row(ScalarOp::kFmin, "fmin", 2, 2),
    row(ScalarOp::kFmax, "fmax", 2, 2),
    row(ScalarOp::kFloor, "floor", 1, 1, kFloats),
    row(ScalarOp::kCeil, "ceil", 1, 1, kFloats),
    row(ScalarOp::kTrunc, "trunc", 1, 1, kFloats),
    row(ScalarOp::kRound, "round", 1, 1, kFloats),
    row(ScalarOp::kSqrt, "sqrt", 1, 8, kFloats),
    row(ScalarOp::kRsqrt, "rsqrt", 1, 12, kFloats),
    row(ScalarOp::kExp, "exp", 1, 12, kFloats),
    row(ScalarOp::kExp2, "exp2", 1, 12, kFloats),
    row(ScalarOp::kExpm1, "expm1", 1, 20, kFloats),
    row(ScalarOp::kLog, "log", 1, 16, kFloats),
    row(ScalarOp::kLog2, "log2", 1, 16, kFloats),
    row(ScalarOp::kLog10, "log10", 1, 16, kFloats),
    row(ScalarOp::kLog1p, "log1p", 1, 20, kFloats),
    row(ScalarOp::kSin, "sin", 1, 20, kFloats),
    row(ScalarOp::kCos, "cos", 1, 20, kFloats),
    row(ScalarOp::kTan, "tan", 1, 30, kFloats),
    row(ScalarOp::kAsin, "asin", 1, 25, kFloats),
    row(ScalarOp::kAcos, "acos", 1, 25, kFloats),
    row(ScalarOp::kAtan, "atan", 1, 25, kFloats),
    row(ScalarOp::kSinh, "sinh", 1, 25, kFloats),
    row(ScalarOp::kCosh, "cosh", 1, 25, kFloats),
    row(ScalarOp::kTanh, "tanh", 1, 16, kFloats),
    row(ScalarOp::kAsinh, "asinh", 1, 30, kFloats),
    row(ScalarOp::kAcosh, "acosh", 1, 30, kFloats),
    row(ScalarOp::kAtanh, "atanh", 1, 30, kFloats),
    row(ScalarOp::kAtan2, "atan2", 2, 30, kFloats),
    row(ScalarOp::kHypot, "hypot", 2, 20, kFloats),
    row(ScalarOp::kErf, "erf", 1, 20, kFloats),
    row(ScalarOp::kErfc, "erfc", 1, 30, kFloats),
    row(ScalarOp::kErfinv, "erfinv", 1, 40, kFloats),
    row(ScalarOp::kLgamma, "lgamma", 1, 60, kFloats),
    row(ScalarOp::kDigamma, "digamma", 1, 60, kFloats),
    row(ScalarOp::kSigmoid, "sigmoid", 1, 16, kFloats),
    row(ScalarOp::kNextafter, "nextafter", 2, 10, kFloats),
    row(ScalarOp::kCopysign, "copysign", 2, 2, kFloats),
    row(ScalarOp::kI0, "i0", 1, 60, kFloats),
    row(ScalarOp::kEq, "eq", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kNe, "ne", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kLt, "lt", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kLe, "le", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kGt, "gt", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kGe, "ge", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kIsNan, "isnan", 1, 1, kFloats, kBoolResult),
    row(ScalarOp::kIsInf, "isinf", 1, 1, kFloats, kBoolResult),
    row(ScalarOp::kSignbit, "signbit", 1, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kLogicalAnd, "logical_and", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kLogicalOr, "logical_or", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kLogicalXor, "logical_xor", 2, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kLogicalNot, "logical_not", 1, 1, kAnyDType, kBoolResult),
    row(ScalarOp::kBitAnd, "bit_and", 2, 1),
    row(ScalarOp::kBitOr, "bit_or", 2, 1),
    row(ScalarOp::kBitXor, "bit_xor", 2, 1),
    row(ScalarOp::kBitNot, "bit_not", 1, 1),
    row(ScalarOp::kShiftLeft, "shift_left", 2, 2),
    row(ScalarOp::kShiftRight, "shift_right", 2, 2),
    row(ScalarOp::kSelect, "select", 3, 1),
};

constexpr bool rows_in_enum_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].op != static_cast<ScalarOp>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(ScalarOp::kSelect) + 1;
}
static_assert(rows_in_enum_order(), "one row per ScalarOp, in the enum's order");

struct ReduceRow {
  ReduceOp op;
  std::string_view name;
  int results;
};
constexpr std::array kReduceRows = {
    ReduceRow{ReduceOp::kSum, "sum", 1},         ReduceRow{ReduceOp::kProd, "prod", 1},
    ReduceRow{ReduceOp::kMin, "min", 1},         ReduceRow{ReduceOp::kMax, "max", 1},
    ReduceRow{ReduceOp::kAny, "any", 1},         ReduceRow{ReduceOp::kAll, "all", 1},
    ReduceRow{ReduceOp::kArgMin, "argmin", 2},   ReduceRow{ReduceOp::kArgMax, "argmax", 2},
    ReduceRow{ReduceOp::kWelford, "welford", 2},
};

const ReduceRow& reduce_row(ReduceOp op) {
  const ReduceRow& row = kReduceRows.at(static_cast<std::size_t>(op));
  TRIPTYCH_DCHECK(row.op == op, "reduce rows follow the enum's order");
  return row;
}

}  // namespace

const ScalarOpInfo& info(ScalarOp op) { return kRows.at(static_cast<std::size_t>(op)); }

std::optional<ScalarOp> parse_scalar_op(std::string_view name) {
  for (const ScalarOpInfo& row : kRows) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

std::string_view reduce_op_name(ReduceOp op) { return reduce_row(op).name; }

std::optional<ReduceOp> parse_reduce_op(std::string_view name) {
  for (const ReduceRow& row : kReduceRows) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

int reduce_results(ReduceOp op) { return reduce_row(op).results; }

}  // namespace triptych::loops
