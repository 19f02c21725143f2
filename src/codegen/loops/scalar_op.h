// The scalar operations of kernels (C3). Semantics are eager ATen's, stated per row in
// scalar_op.cpp's table; nothing here is undefined behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace triptych::loops {

enum class ScalarOp : std::uint8_t {
  // leaves
  kConstant,
  kIndex,
  kLoad,
  // conversions: kCast as Tensor.to(dtype) (see numerics page for out-of-range floats); kBitcast
  // reinterprets
  kCast,
  kBitcast,
  // arithmetic in the instruction's dtype
  kAdd,
  kSub,
  kMul,
  kDiv /* true division, floats */,
  kFloorDiv,
  kTruncDiv,
  kRemainder /* sign of divisor */,
  kFmod,
  kPow,
  kNeg,
  kAbs,
  kSign,
  kReciprocal,
  kFma,
  kMin,
  kMax /* NaN propagates */,
  kFmin,
  kFmax /* NaN ignored */,
  // rounding
  kFloor,
  kCeil,
  kTrunc,
  kRound /* half to even */,
  // transcendental (floats)
  kSqrt,
  kRsqrt,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kAtan2,
  kHypot,
  kErf,
  kErfc,
  kErfinv,
  kLgamma,
  kDigamma,
  kSigmoid,
  kNextafter,
  kCopysign,
  kI0,
  // comparisons: operands share a dtype, the result is bool; ordered, false on NaN except kNe
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIsNan,
  kIsInf,
  kSignbit,
  // bool and bitwise
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kLogicalNot,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
  // kSelect(condition, if_true, if_false)
  kSelect,
};

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;  // as printed and as in the op table's expressions: "add", "exp", "select"
  int arity;              // -1: leaves with their own fields
  bool bool_result;
  bool floats_only;
  int cost;  // in units of one addition; steers recomputation and grain sizes
};
const ScalarOpInfo& info(ScalarOp op);
std::optional<ScalarOp> parse_scalar_op(std::string_view name);

// Combines of reductions.
enum class ReduceOp : std::uint8_t {
  kSum,
  kProd,
  kMin,
  kMax /* NaN propagates */,
  kAny,
  kAll,
  kArgMin,
  kArgMax,   // results: value, index (i64 position in reduction order); first one wins; NaN wins
  kWelford,  // results: mean, m2 (sum of squared deviations)
};
std::string_view reduce_op_name(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);
int reduce_results(ReduceOp op);  // 1 or 2

}  // namespace triptych::loops
