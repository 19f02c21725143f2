#include "codegen/loops/scalar_types.h"

#include <charconv>

namespace triptych::loops {

std::optional<DType> implied_dtype(ScalarOp op, std::span<const DType> args,
                                   std::optional<DType> buffer) {
  if (op == ScalarOp::kLoad) return buffer;
  if (op == ScalarOp::kIndex) return DType::kI64;
  if (op == ScalarOp::kConstant || op == ScalarOp::kCast || op == ScalarOp::kBitcast) {
    return std::nullopt;
  }
  if (info(op).bool_result) return DType::kBool;
  if (op == ScalarOp::kSelect) return args.size() > 1 ? std::optional(args[1]) : std::nullopt;
  return args.empty() ? std::nullopt : std::optional(args[0]);
}

bool is_commutative(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kMul:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLogicalAnd:
    case ScalarOp::kLogicalOr:
    case ScalarOp::kLogicalXor:
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
      return true;
    default:
      return false;
  }
}

DType reduction_result_dtype(ReduceOp op, DType accumulator, std::size_t which) {
  const bool has_index = op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
  return has_index && which == 1 ? DType::kI64 : accumulator;
}

Symbol scalar_symbol(ScalarId id) { return Symbol("v" + std::to_string(id.value)); }

std::optional<ScalarId> scalar_of_symbol(Symbol symbol) {
  const std::string& text = symbol.str();
  if (text.size() < 2 || text[0] != 'v') return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return ScalarId{number};
}

}  // namespace triptych::loops
