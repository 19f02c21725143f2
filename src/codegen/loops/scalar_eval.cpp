#include "codegen/loops/scalar_eval.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codegen/loops/special_functions.h"
#include "support/float16.h"

namespace triptych::loops {
double rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<float>(value);
    case DType::kF16:
      return f16_to_float(float_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return bf16_to_float(float_to_bf16(static_cast<float>(value)));
    default:
      return value;
  }
}

std::int64_t wrapped(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value != 0;
    case DType::kU8:
      return static_cast<std::uint8_t>(value);
    case DType::kI8:
      return static_cast<std::int8_t>(value);
    case DType::kI16:
      return static_cast<std::int16_t>(value);
    case DType::kU16:
      return static_cast<std::uint16_t>(value);
    case DType::kI32:
      return static_cast<std::int32_t>(value);
    case DType::kU32:
      return static_cast<std::uint32_t>(value);
    default:
      return value;
  }
}

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// As cvttss2si: out of range and NaN give the lowest integer. Types under 32 bits go through i32
// and wrap.
std::int64_t float_to_int(double value, DType to) {
  const bool narrow = ir::dtype_bytes(to) <= 4 && to != DType::kU32;
  const double limit = narrow ? 2147483648.0 : 9223372036854775808.0;
  const std::int64_t lowest =
      narrow ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
  const double truncated = std::trunc(value);
  const bool fits = truncated >= -limit && truncated < limit;
  return wrapped(fits ? static_cast<std::int64_t>(truncated) : lowest, to);
}

double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

double float_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

double float_min(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNan : b < a ? b : a;
}
double float_max(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNan : b > a ? b : a;
}
// std::fmin may return either of two zeros.
double number_min(double a, double b) { return std::isnan(a) || b < a ? b : a; }
double number_max(double a, double b) { return std::isnan(a) || b > a ? b : a; }

struct UnaryFunction {
  ScalarOp op;
  double (*function)(double);
};
const UnaryFunction kUnaryFunctions[] = {
    {ScalarOp::kAbs, std::fabs},        {ScalarOp::kFloor, std::floor},
    {ScalarOp::kCeil, std::ceil},       {ScalarOp::kTrunc, std::trunc},
    {ScalarOp::kRound, std::nearbyint}, {ScalarOp::kSqrt, std::sqrt},
    {ScalarOp::kExp, std::exp},         {ScalarOp::kExp2, std::exp2},
    {ScalarOp::kExpm1, std::expm1},     {ScalarOp::kLog, std::log},
    {ScalarOp::kLog2, std::log2},       {ScalarOp::kLog10, std::log10},
    {ScalarOp::kLog1p, std::log1p},     {ScalarOp::kSin, std::sin},
    {ScalarOp::kCos, std::cos},         {ScalarOp::kTan, std::tan},
    {ScalarOp::kAsin, std::asin},       {ScalarOp::kAcos, std::acos},
    {ScalarOp::kAtan, std::atan},       {ScalarOp::kSinh, std::sinh},
    {ScalarOp::kCosh, std::cosh},       {ScalarOp::kTanh, std::tanh},
    {ScalarOp::kAsinh, std::asinh},     {ScalarOp::kAcosh, std::acosh},
    {ScalarOp::kAtanh, std::atanh},     {ScalarOp::kErf, std::erf},
    {ScalarOp::kErfc, std::erfc},       {ScalarOp::kErfinv, erfinv},
    {ScalarOp::kLgamma, std::lgamma},   {ScalarOp::kDigamma, digamma},
    {ScalarOp::kI0, bessel_i0},
};

double evaluate_float(ScalarOp op, DType dtype, double a, double b, double c) {
  switch (op) {
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kFloorDiv:
      return floor_divide(a, b);
    case ScalarOp::kTruncDiv:
      return std::trunc(rounded(a / b, dtype));
    case ScalarOp::kRemainder:
      return float_remainder(a, b);
    case ScalarOp::kFmod:
      return std::fmod(a, b);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kSign:
      return static_cast<double>(a > 0) - static_cast<double>(a < 0);
    case ScalarOp::kReciprocal:
      return 1 / a;
    case ScalarOp::kFma:
      return dtype == DType::kF32
                 ? std::fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))
                 : std::fma(a, b, c);
    case ScalarOp::kMin:
      return float_min(a, b);
    case ScalarOp::kMax:
      return float_max(a, b);
    case ScalarOp::kFmin:
      return number_min(a, b);
    case ScalarOp::kFmax:
      return number_max(a, b);
    case ScalarOp::kRsqrt:
      return 1 / rounded(std::sqrt(a), dtype);
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    case ScalarOp::kHypot:
      return std::hypot(a, b);
    case ScalarOp::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case ScalarOp::kNextafter:
      return dtype == DType::kF32 ? std::nextafterf(static_cast<float>(a), static_cast<float>(b))
                                  : std::nextafter(a, b);
    case ScalarOp::kCopysign:
      return std::copysign(a, b);
    default:
      for (const UnaryFunction& entry : kUnaryFunctions) {
        if (entry.op == op) return entry.function(a);
      }
      TRIPTYCH_UNREACHABLE(std::string(info(op).name) + " of floats");
  }
}

using Bits = std::uint64_t;

std::int64_t integer_power(std::int64_t base, std::int64_t exponent, bool is_signed) {
  if (is_signed && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  Bits result = 1;
  Bits square = static_cast<Bits>(base);
  for (Bits left = static_cast<Bits>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<std::int64_t>(result);
}

// Division by zero gives 0 (a Check has reported it); INT_MIN / -1 wraps.
std::int64_t integer_divide(ScalarOp op, std::int64_t a, std::int64_t b, bool is_signed) {
  if (b == 0) return 0;
  if (!is_signed) {
    const Bits x = static_cast<Bits>(a);
    const Bits y = static_cast<Bits>(b);
    const bool quotient = op == ScalarOp::kTruncDiv || op == ScalarOp::kFloorDiv;
    return static_cast<std::int64_t>(quotient ? x / y : x % y);
  }
  if (b == -1) {
    const bool quotient = op == ScalarOp::kTruncDiv || op == ScalarOp::kFloorDiv;
    return quotient ? static_cast<std::int64_t>(Bits{0} - static_cast<Bits>(a)) : 0;
  }
  const std::int64_t quotient = a / b;
  const std::int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
  switch (op) {
    case ScalarOp::kTruncDiv:
      return quotient;
    case ScalarOp::kFmod:
      return remainder;
    case ScalarOp::kFloorDiv:
      return quotient - static_cast<std::int64_t>(adjust);
    default:
      return adjust ? remainder + b : remainder;
  }
}

// A shift by the width or more, or by a negative count: 0, or the sign for arithmetic right shifts.
std::int64_t shift(ScalarOp op, std::int64_t a, std::int64_t b, DType dtype) {
  const int bits = ir::dtype_bytes(dtype) * 8;
  const bool outside = b < 0 || b >= bits;
  if (op == ScalarOp::kShiftLeft) {
    return outside ? 0 : static_cast<std::int64_t>(static_cast<Bits>(a) << b);
  }
  if (ir::is_signed(dtype)) return a >> (outside ? bits - 1 : b);
  return outside ? 0 : static_cast<std::int64_t>(static_cast<Bits>(a) >> b);
}

bool less(std::int64_t a, std::int64_t b, DType dtype) {
  return dtype == DType::kU64 ? static_cast<Bits>(a) < static_cast<Bits>(b) : a < b;
}

std::int64_t evaluate_integer(ScalarOp op, DType dtype, std::int64_t a, std::int64_t b,
                              std::int64_t c) {
  const Bits x = static_cast<Bits>(a);
  const Bits y = static_cast<Bits>(b);
  const auto bits = [](Bits value) { return static_cast<std::int64_t>(value); };
  switch (op) {
    case ScalarOp::kAdd:
      return dtype == DType::kBool ? bits(x | y) : bits(x + y);
    case ScalarOp::kSub:
      return bits(x - y);
    case ScalarOp::kMul:
      return bits(x * y);
    case ScalarOp::kFma:
      return bits(x * y + static_cast<Bits>(c));
    case ScalarOp::kFloorDiv:
    case ScalarOp::kTruncDiv:
    case ScalarOp::kRemainder:
    case ScalarOp::kFmod:
      return integer_divide(op, a, b, ir::is_signed(dtype));
    case ScalarOp::kPow:
      return integer_power(a, b, ir::is_signed(dtype));
    case ScalarOp::kNeg:
      return bits(Bits{0} - x);
    case ScalarOp::kAbs:
      return ir::is_signed(dtype) && a < 0 ? bits(Bits{0} - x) : a;
    case ScalarOp::kSign:
      return less(0, a, dtype) ? 1 : (a == 0 ? 0 : -1);
    case ScalarOp::kMin:
    case ScalarOp::kFmin:
      return less(b, a, dtype) ? b : a;
    case ScalarOp::kMax:
    case ScalarOp::kFmax:
      return less(a, b, dtype) ? b : a;
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRound:
      return a;
    case ScalarOp::kBitAnd:
      return a & b;
    case ScalarOp::kBitOr:
      return a | b;
    case ScalarOp::kBitXor:
      return a ^ b;
    case ScalarOp::kBitNot:
      return dtype == DType::kBool ? static_cast<std::int64_t>(a == 0) : ~a;
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return shift(op, a, b, dtype);
    default:
      TRIPTYCH_UNREACHABLE(std::string(info(op).name) + " of integers");
  }
}

std::int64_t float_bits(double value, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return std::bit_cast<std::int32_t>(static_cast<float>(value));
    case DType::kF16:
      return static_cast<std::int16_t>(float_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return static_cast<std::int16_t>(float_to_bf16(static_cast<float>(value)));
    default:
      return std::bit_cast<std::int64_t>(value);
  }
}

double bits_float(std::int64_t bits, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::kF16:
      return f16_to_float(static_cast<std::uint16_t>(bits));
    case DType::kBF16:
      return bf16_to_float(static_cast<std::uint16_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

bool evaluate_predicate(ScalarOp op, DType type, ScalarValue a, ScalarValue b) {
  const bool floating = ir::is_floating(type);
  switch (op) {
    case ScalarOp::kEq:
      return floating ? a.number == b.number : a.integer == b.integer;
    case ScalarOp::kNe:
      return floating ? a.number != b.number : a.integer != b.integer;
    case ScalarOp::kLt:
      return floating ? a.number < b.number : less(a.integer, b.integer, type);
    case ScalarOp::kLe:
      return floating ? a.number <= b.number : !less(b.integer, a.integer, type);
    case ScalarOp::kGt:
      return floating ? a.number > b.number : less(b.integer, a.integer, type);
    case ScalarOp::kGe:
      return floating ? a.number >= b.number : !less(a.integer, b.integer, type);
    case ScalarOp::kIsNan:
      return floating && std::isnan(a.number);
    case ScalarOp::kIsInf:
      return floating && std::isinf(a.number);
    case ScalarOp::kSignbit:
      return floating ? std::signbit(a.number) : less(a.integer, 0, type);
    default:
      break;
  }
  const bool left = floating ? a.number != 0 : a.integer != 0;
  const bool right = floating ? b.number != 0 : b.integer != 0;
  switch (op) {
    case ScalarOp::kLogicalAnd:
      return left && right;
    case ScalarOp::kLogicalOr:
      return left || right;
    case ScalarOp::kLogicalXor:
      return left != right;
    case ScalarOp::kLogicalNot:
      return !left;
    default:
      TRIPTYCH_UNREACHABLE(std::string(info(op).name) + " is no predicate");
  }
}

template <class T>
T read(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}
template <class T>
void write(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

}  // namespace

ScalarValue convert(ScalarValue value, DType from, DType to) {
  if (ir::is_floating(from)) {
    if (ir::is_floating(to)) return {rounded(value.number, to), 0};
    if (to == DType::kBool) return {0, value.number != 0};
    return {0, float_to_int(value.number, to)};
  }
  if (!ir::is_floating(to)) return {0, wrapped(value.integer, to)};
  // An i64 goes to f32 in one rounding, not through double.
  const bool is_unsigned = from == DType::kU64;
  const bool single = to != DType::kF64;
  const auto bits = static_cast<Bits>(value.integer);
  double number = 0;
  if (single) {
    number = is_unsigned ? static_cast<float>(bits) : static_cast<float>(value.integer);
  } else {
    number = is_unsigned ? static_cast<double>(bits) : static_cast<double>(value.integer);
  }
  return {rounded(number, to), 0};
}

ScalarValue evaluate(ScalarOp op, DType dtype, std::span<const ScalarValue> args,
                     std::span<const DType> arg_types) {
  if (op == ScalarOp::kCast) return convert(args[0], arg_types[0], dtype);
  if (op == ScalarOp::kSelect) return args[0].integer != 0 ? args[1] : args[2];
  if (op == ScalarOp::kBitcast) {
    const std::int64_t bits =
        ir::is_floating(arg_types[0]) ? float_bits(args[0].number, arg_types[0]) : args[0].integer;
    return ir::is_floating(dtype) ? ScalarValue{bits_float(bits, dtype), 0}
                                  : ScalarValue{0, wrapped(bits, dtype)};
  }
  const auto arg = [&](std::size_t i) { return i < args.size() ? args[i] : ScalarValue{}; };
  if (info(op).bool_result) return {0, evaluate_predicate(op, arg_types[0], arg(0), arg(1))};
  if (ir::is_floating(dtype)) {
    const double value = evaluate_float(op, dtype, arg(0).number, arg(1).number, arg(2).number);
    return {rounded(value, dtype), 0};
  }
  return {0, wrapped(evaluate_integer(op, dtype, arg(0).integer, arg(1).integer, arg(2).integer),
                     dtype)};
}

ScalarValue constant_value(const Instruction& instruction) {
  const bool floating = ir::is_floating(instruction.dtype);
  if (const auto* flag = std::get_if<bool>(&instruction.constant)) {
    return convert({0, *flag}, DType::kBool, instruction.dtype);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&instruction.constant)) {
    return convert({0, *integer}, DType::kI64, instruction.dtype);
  }
  if (const auto* number = std::get_if<double>(&instruction.constant)) {
    return floating ? ScalarValue{rounded(*number, instruction.dtype), 0}
                    : convert({*number, 0}, DType::kF64, instruction.dtype);
  }
  return {};
}

ScalarValue load_scalar(const void* data, std::int64_t index, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, read<std::uint8_t>(data, index) != 0};
    case DType::kU8:
      return {0, read<std::uint8_t>(data, index)};
    case DType::kI8:
      return {0, read<std::int8_t>(data, index)};
    case DType::kI16:
      return {0, read<std::int16_t>(data, index)};
    case DType::kU16:
      return {0, read<std::uint16_t>(data, index)};
    case DType::kI32:
      return {0, read<std::int32_t>(data, index)};
    case DType::kU32:
      return {0, read<std::uint32_t>(data, index)};
    case DType::kI64:
    case DType::kU64:
      return {0, read<std::int64_t>(data, index)};
    case DType::kF16:
      return {f16_to_float(read<std::uint16_t>(data, index)), 0};
    case DType::kBF16:
      return {bf16_to_float(read<std::uint16_t>(data, index)), 0};
    case DType::kF32:
      return {read<float>(data, index), 0};
    case DType::kF64:
      return {read<double>(data, index), 0};
    default:
      TRIPTYCH_UNREACHABLE("load of dtype " + std::string(ir::dtype_name(dtype)));
  }
}

void store_scalar(void* data, std::int64_t index, DType dtype, ScalarValue value) {
  switch (dtype) {
    case DType::kBool:
      return write<std::uint8_t>(data, index, value.integer != 0);
    case DType::kU8:
    case DType::kI8:
      return write(data, index, static_cast<std::uint8_t>(value.integer));
    case DType::kI16:
    case DType::kU16:
      return write(data, index, static_cast<std::uint16_t>(value.integer));
    case DType::kI32:
    case DType::kU32:
      return write(data, index, static_cast<std::uint32_t>(value.integer));
    case DType::kI64:
    case DType::kU64:
      return write(data, index, value.integer);
    case DType::kF16:
      return write(data, index, float_to_f16(static_cast<float>(value.number)));
    case DType::kBF16:
      return write(data, index, float_to_bf16(static_cast<float>(value.number)));
    case DType::kF32:
      return write(data, index, static_cast<float>(value.number));
    case DType::kF64:
      return write(data, index, value.number);
    default:
      TRIPTYCH_UNREACHABLE("store of dtype " + std::string(ir::dtype_name(dtype)));
  }
}

}  // namespace triptych::loops
