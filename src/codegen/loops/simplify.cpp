// The law: every rewrite is directional (its result has fewer instructions), type-preserving, and
// exact: the same bits for every operand, NaN (payload aside), infinity and signed zero included.
// So x + 0 stays for floats (-0 + 0 is +0) and x * 0 stays (NaN, infinities). Each formula stands
// above its code.
#include "codegen/loops/simplify.h"

#include <cmath>
#include <cstring>

namespace triptych::loops {
namespace {

const Instruction* constant_of(const Builder& builder, ScalarId scalar) {
  const Instruction* definition = builder.definition(scalar);
  return definition != nullptr && definition->op == ScalarOp::kConstant ? definition : nullptr;
}

bool is_constant(const Builder& builder, ScalarId scalar, double value) {
  const Instruction* found = constant_of(builder, scalar);
  if (found == nullptr) return false;
  if (const auto* number = std::get_if<double>(&found->constant)) {
    return *number == value && std::signbit(*number) == std::signbit(value);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&found->constant)) {
    return *integer == static_cast<std::int64_t>(value);
  }
  return false;
}

std::optional<bool> bool_constant(const Builder& builder, ScalarId scalar) {
  const Instruction* found = constant_of(builder, scalar);
  if (found == nullptr) return std::nullopt;
  const auto* truth = std::get_if<bool>(&found->constant);
  return truth != nullptr ? std::optional<bool>(*truth) : std::nullopt;
}

// Float to narrower-or-equal float constants are rounded where the instruction would round them.
std::optional<ScalarId> cast_constant(Builder& builder, const Instruction& from, DType to) {
  if (const auto* truth = std::get_if<bool>(&from.constant)) {
    if (to == DType::kBool) return builder.constant_bool(*truth);
    return ir::is_floating(to) ? builder.constant(to, *truth ? 1 : 0)
                               : builder.constant_int(to, *truth ? 1 : 0);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&from.constant)) {
    if (to == DType::kBool) return builder.constant_bool(*integer != 0);
    constexpr std::int64_t kExact = std::int64_t{1} << 24;
    if (ir::is_floating(to)) {
      // Beyond 2^24 rounding of an i64 through double could differ from one rounding.
      if (*integer > kExact || *integer < -kExact) return std::nullopt;
      return builder.constant(to, static_cast<double>(*integer));
    }
    return builder.constant_int(to, *integer);
  }
  if (const auto* number = std::get_if<double>(&from.constant)) {
    if (to == DType::kBool) return builder.constant_bool(*number != 0);
    if (ir::is_floating(to)) return builder.constant(to, *number);
  }
  return std::nullopt;
}

// Whether every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (ir::is_floating(from)) {
    return to == DType::kF64 || (to == DType::kF32 && from != DType::kF64);
  }
  return ir::is_integral(to, false) && ir::is_signed(from) == ir::is_signed(to) &&
         ir::dtype_bytes(from) <= ir::dtype_bytes(to);
}

std::optional<ScalarId> simplify_cast(Builder& builder, DType to, ScalarId arg) {
  // cast<T>(x: T) = x
  if (builder.dtype(arg) == to) return arg;
  const Instruction* inner = builder.definition(arg);
  if (inner == nullptr) return std::nullopt;
  // cast<T>(constant) = constant of T
  if (inner->op == ScalarOp::kConstant) return cast_constant(builder, *inner, to);
  // cast<T>(cast<W>(x: T)) = x when W holds every T
  if (inner->op == ScalarOp::kCast && builder.dtype(inner->args[0]) == to &&
      widens(to, inner->dtype)) {
    return inner->args[0];
  }
  return std::nullopt;
}

std::optional<ScalarId> simplify_arithmetic(Builder& builder, ScalarOp op, DType dtype,
                                            std::span<const ScalarId> args) {
  const bool floating = ir::is_floating(dtype);
  switch (op) {
    case ScalarOp::kAdd:
      // x + 0 = x for integers; x + -0.0 = x for floats
      if (is_constant(builder, args[1], floating ? -0.0 : 0.0)) return args[0];
      if (is_constant(builder, args[0], floating ? -0.0 : 0.0)) return args[1];
      return std::nullopt;
    case ScalarOp::kSub:
      // x - 0 = x
      if (is_constant(builder, args[1], 0.0)) return args[0];
      return std::nullopt;
    case ScalarOp::kMul:
      // x * 1 = x
      if (is_constant(builder, args[1], 1.0)) return args[0];
      if (is_constant(builder, args[0], 1.0)) return args[1];
      return std::nullopt;
    case ScalarOp::kDiv:
      // x / 1 = x
      if (is_constant(builder, args[1], 1.0)) return args[0];
      return std::nullopt;
    case ScalarOp::kNeg: {
      // -(-x) = x; -constant = constant
      const Instruction* inner = builder.definition(args[0]);
      if (inner == nullptr) return std::nullopt;
      if (inner->op == ScalarOp::kNeg) return inner->args[0];
      if (const auto* number = std::get_if<double>(&inner->constant)) {
        return builder.constant(dtype, -*number);
      }
      return std::nullopt;
    }
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      // min(x, x) = x
      if (args[0] == args[1]) return args[0];
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// constant == constant, constant < constant and so on, of integers
std::optional<ScalarId> compare_constants(Builder& builder, ScalarOp op,
                                          std::span<const ScalarId> args) {
  if (op < ScalarOp::kEq || op > ScalarOp::kGe) return std::nullopt;
  const Instruction* left = constant_of(builder, args[0]);
  const Instruction* right = constant_of(builder, args[1]);
  if (left == nullptr || right == nullptr) return std::nullopt;
  const auto* a = std::get_if<std::int64_t>(&left->constant);
  const auto* b = std::get_if<std::int64_t>(&right->constant);
  if (a == nullptr || b == nullptr) return std::nullopt;
  switch (op) {
    case ScalarOp::kEq:
      return builder.constant_bool(*a == *b);
    case ScalarOp::kNe:
      return builder.constant_bool(*a != *b);
    case ScalarOp::kLt:
      return builder.constant_bool(*a < *b);
    case ScalarOp::kLe:
      return builder.constant_bool(*a <= *b);
    case ScalarOp::kGt:
      return builder.constant_bool(*a > *b);
    case ScalarOp::kGe:
      return builder.constant_bool(*a >= *b);
    default:
      return std::nullopt;
  }
}

std::optional<ScalarId> simplify_logic(Builder& builder, ScalarOp op,
                                       std::span<const ScalarId> args) {
  if (op == ScalarOp::kLogicalNot) {
    // !!x = x; !constant = constant
    const Instruction* inner = builder.definition(args[0]);
    if (inner != nullptr && inner->op == ScalarOp::kLogicalNot) return inner->args[0];
    if (const auto truth = bool_constant(builder, args[0])) return builder.constant_bool(!*truth);
    return std::nullopt;
  }
  if (op == ScalarOp::kSelect) {
    // select(true, a, b) = a; select(c, a, a) = a
    if (const auto truth = bool_constant(builder, args[0])) return *truth ? args[1] : args[2];
    if (args[1] == args[2]) return args[1];
    return std::nullopt;
  }
  if (op != ScalarOp::kLogicalAnd && op != ScalarOp::kLogicalOr) return std::nullopt;
  // x && true = x; x && false = false; x && x = x, and the same for || with truth swapped
  const bool neutral = op == ScalarOp::kLogicalAnd;
  if (args[0] == args[1]) return args[0];
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto truth = bool_constant(builder, args[i])) {
      return *truth == neutral ? args[1 - i] : args[i];
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScalarId> simplify_instruction(Builder& builder, ScalarOp op, DType dtype,
                                             std::span<const ScalarId> args) {
  if (op == ScalarOp::kCast) return simplify_cast(builder, dtype, args[0]);
  if (const auto logic = simplify_logic(builder, op, args)) return logic;
  if (const auto comparison = compare_constants(builder, op, args)) return comparison;
  return simplify_arithmetic(builder, op, dtype, args);
}

}  // namespace triptych::loops
