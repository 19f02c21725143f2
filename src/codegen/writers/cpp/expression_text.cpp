#include "codegen/writers/cpp/expression_text.h"

#include <cmath>
#include <cstdio>

#include "codegen/loops/scalar_types.h"
#include "codegen/writers/constant_value.h"
#include "support/check.h"

namespace triptych::writers::cpp {

namespace {

using loops::ScalarOp;

std::string call(std::string_view function, const std::vector<std::string>& args) {
  std::string text(function);
  text += "(";
  for (std::size_t k = 0; k < args.size(); ++k) text += (k == 0 ? "" : ", ") + args[k];
  return text + ")";
}

std::string infix(const std::string& a, std::string_view op, const std::string& b) {
  return a + " " + std::string(op) + " " + b;
}

std::string cast_to(const std::string& type, const std::string& value) {
  return "static_cast<" + type + ">(" + value + ")";
}

std::string cast(const std::string& value, DType from, DType to, std::set<std::string>& uses) {
  if (from == to) return value;
  if (loops::is_half(from)) {
    uses.insert("float16");
    std::string wide =
        call(from == DType::kBF16 ? "triptych::bf16_to_float" : "triptych::f16_to_float", {value});
    return cast(wide, DType::kF32, to, uses);
  }
  if (loops::is_half(to)) {
    uses.insert("float16");
    return call(to == DType::kBF16 ? "triptych::float_to_bf16" : "triptych::float_to_f16",
                {cast(value, from, DType::kF32, uses)});
  }
  if (to == DType::kBool) return value + " != 0";
  if (ir::is_floating(from) && !ir::is_floating(to)) {
    uses.insert("to_integer");
    bool narrow = ir::dtype_bytes(to) <= 4 && to != DType::kU32;
    return "to_integer<" + variable_type(to) + ", std::int" + (narrow ? "32" : "64") + "_t>(" +
           value + ")";
  }
  return cast_to(variable_type(to), value);
}

std::string_view operator_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return "+";
    case ScalarOp::kSub:
      return "-";
    case ScalarOp::kMul:
      return "*";
    case ScalarOp::kDiv:
      return "/";
    case ScalarOp::kEq:
      return "==";
    case ScalarOp::kNe:
      return "!=";
    case ScalarOp::kLt:
      return "<";
    case ScalarOp::kLe:
      return "<=";
    case ScalarOp::kGt:
      return ">";
    case ScalarOp::kGe:
      return ">=";
    case ScalarOp::kBitAnd:
      return "&";
    case ScalarOp::kBitOr:
      return "|";
    case ScalarOp::kBitXor:
      return "^";
    default:
      return "";
  }
}

std::string predicate(ScalarOp op, const std::vector<std::string>& x, DType type) {
  bool floating = ir::is_floating(type);
  auto truth = [&](const std::string& value) {
    return type == DType::kBool ? value : "(" + value + " != 0)";
  };
  switch (op) {
    case ScalarOp::kIsNan:
      return floating ? call("std::isnan", x) : "false";
    case ScalarOp::kIsInf:
      return floating ? call("std::isinf", x) : "false";
    case ScalarOp::kSignbit:
      return floating ? call("std::signbit", x) : x[0] + " < 0";
    case ScalarOp::kLogicalAnd:
      return infix(truth(x[0]), "&&", truth(x[1]));
    case ScalarOp::kLogicalOr:
      return infix(truth(x[0]), "||", truth(x[1]));
    case ScalarOp::kLogicalXor:
      return infix(truth(x[0]), "!=", truth(x[1]));
    case ScalarOp::kLogicalNot:
      return "!" + truth(x[0]);
    default:
      return infix(x[0], operator_of(op), x[1]);
  }
}

// Functions of <cmath> and of the prelude, by op.
std::string_view float_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kFloorDiv:
      return "float_floor_div";
    case ScalarOp::kRemainder:
      return "float_remainder";
    case ScalarOp::kMin:
      return "lowest_of";
    case ScalarOp::kMax:
      return "highest_of";
    case ScalarOp::kFmin:
      return "lowest_number";
    case ScalarOp::kFmax:
      return "highest_number";
    case ScalarOp::kSign:
      return "sign";
    case ScalarOp::kSigmoid:
      return "sigmoid";
    case ScalarOp::kAbs:
      return "std::fabs";
    case ScalarOp::kRound:
      return "std::nearbyint";
    case ScalarOp::kErfinv:
      return "triptych::loops::erfinv";
    case ScalarOp::kDigamma:
      return "triptych::loops::digamma";
    case ScalarOp::kI0:
      return "triptych::loops::bessel_i0";
    default:
      return "";
  }
}

std::string float_op(ScalarOp op, DType dtype, const std::vector<std::string>& x,
                     std::set<std::string>& uses) {
  std::string_view sign = operator_of(op);
  if (!sign.empty()) return infix(x[0], sign, x[1]);
  std::string type = variable_type(dtype);
  std::string one = float_text(dtype, 1);
  switch (op) {
    case ScalarOp::kNeg:
      return "-" + x[0];
    case ScalarOp::kReciprocal:
      return infix(one, "/", x[0]);
    case ScalarOp::kRsqrt:
      return infix(one, "/", call("std::sqrt", x));
    case ScalarOp::kTruncDiv:
      return call("std::trunc", {infix(x[0], "/", x[1])});
    default:
      break;
  }
  std::string function(float_function(op));
  if (function.empty()) function = "std::" + std::string(loops::info(op).name);
  if (function.starts_with("triptych::")) {
    uses.insert("special_functions");
    return cast_to(type, call(function, x));
  }
  if (!function.starts_with("std::")) uses.insert(function);
  return call(function, x);
}

std::string integer_op(ScalarOp op, DType dtype, const std::vector<std::string>& x,
                       std::set<std::string>& uses) {
  std::string type = variable_type(dtype);
  auto helper = [&](const char* name) {
    uses.insert(name);
    return call(name, x);
  };
  bool is_bool = dtype == DType::kBool;
  switch (op) {
    case ScalarOp::kFma:
      return cast_to(type, x[0] + " * " + x[1] + " + " + x[2]);
    case ScalarOp::kNeg:
      return cast_to(type, "0 - " + x[0]);
    case ScalarOp::kAbs:
      return ir::is_signed(dtype) ? cast_to(type, x[0] + " < 0 ? 0 - " + x[0] + " : " + x[0])
                                  : x[0];
    case ScalarOp::kSign:
      return helper("sign");
    case ScalarOp::kMin:
    case ScalarOp::kFmin:
      return helper("lowest_of");
    case ScalarOp::kMax:
    case ScalarOp::kFmax:
      return helper("highest_of");
    case ScalarOp::kFloorDiv:
      return helper("integer_floor_div");
    case ScalarOp::kTruncDiv:
      return helper("trunc_div");
    case ScalarOp::kRemainder:
      return helper("integer_remainder");
    case ScalarOp::kFmod:
      return helper("integer_fmod");
    case ScalarOp::kPow:
      return helper("integer_pow");
    case ScalarOp::kShiftLeft:
      return helper("shift_left");
    case ScalarOp::kShiftRight:
      return helper("shift_right");
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRound:
      return x[0];
    case ScalarOp::kBitNot:
      return is_bool ? "!" + x[0] : cast_to(type, "~" + x[0]);
    default:
      break;
  }
  std::string_view sign = operator_of(op);
  TRIPTYCH_CHECK(!sign.empty(), std::string(loops::info(op).name) + " of integers");
  return cast_to(type, infix(x[0], sign, x[1]));
}

}  // namespace

std::string variable_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kU8:
      return "std::uint8_t";
    case DType::kI8:
      return "std::int8_t";
    case DType::kI16:
      return "std::int16_t";
    case DType::kI32:
      return "std::int32_t";
    case DType::kI64:
      return "std::int64_t";
    case DType::kU16:
      return "std::uint16_t";
    case DType::kU32:
      return "std::uint32_t";
    case DType::kU64:
      return "std::uint64_t";
    case DType::kF16:
    case DType::kBF16:
      return "std::uint16_t";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    default:
      TRIPTYCH_UNREACHABLE("a dtype that kernels do not have");
  }
}

std::string memory_type(DType dtype) {
  return dtype == DType::kBool ? "std::uint8_t" : variable_type(dtype);
}

std::string float_text(DType dtype, double value) {
  std::string type = dtype == DType::kF32 ? "float" : "double";
  if (std::isnan(value)) return "std::numeric_limits<" + type + ">::quiet_NaN()";
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") + "std::numeric_limits<" + type + ">::infinity()";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, dtype == DType::kF32 ? "%.9g" : "%.17g", value);
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return dtype == DType::kF32 ? text + "f" : text;
}

std::string constant_text(DType dtype,
                          const std::variant<std::monostate, bool, std::int64_t, double>& value) {
  auto [real, integer] = constant_value(dtype, value);
  if (dtype == DType::kBool) return real != 0 ? "true" : "false";
  if (loops::is_half(dtype)) {
    std::string function =
        dtype == DType::kBF16 ? "triptych::float_to_bf16" : "triptych::float_to_f16";
    return call(function, {float_text(DType::kF32, static_cast<double>(static_cast<float>(real)))});
  }
  if (dtype == DType::kF32) real = static_cast<double>(static_cast<float>(real));
  if (ir::is_floating(dtype)) return float_text(dtype, real);
  if (integer == INT64_MIN) return "std::numeric_limits<std::int64_t>::min()";
  std::string text = std::to_string(integer);
  return dtype == DType::kI64 || dtype == DType::kI32 ? text : cast_to(variable_type(dtype), text);
}

std::string operation_text(ScalarOp op, DType dtype, const std::vector<std::string>& args,
                           const std::vector<DType>& arg_types, std::set<std::string>& uses) {
  if (op == ScalarOp::kCast) return cast(args[0], arg_types[0], dtype, uses);
  if (op == ScalarOp::kSelect) return args[0] + " ? " + args[1] + " : " + args[2];
  if (op == ScalarOp::kBitcast) {
    if (variable_type(dtype) == variable_type(arg_types[0])) return args[0];
    return "std::bit_cast<" + variable_type(dtype) + ">(" + args[0] + ")";
  }
  if (loops::info(op).bool_result) return predicate(op, args, arg_types[0]);
  if (ir::is_floating(dtype)) return float_op(op, dtype, args, uses);
  return integer_op(op, dtype, args, uses);
}

}  // namespace triptych::writers::cpp
