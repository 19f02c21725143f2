#include "codegen/plan/sym_program.h"

#include <algorithm>

namespace triptych::plan {

using ir::SymExpr;

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace

SymProgram::SymProgram(std::span<const ir::Symbol> symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    symbols_.emplace(symbols[i], static_cast<std::int64_t>(i));
  }
}

std::uint32_t SymProgram::add(const SymExpr& expr) {
  const auto [found, added] = known_.emplace(expr.str(), static_cast<std::uint32_t>(ends_.size()));
  if (added) {
    compile(expr);
    ends_.push_back(static_cast<std::uint32_t>(code_.size()));
    constant_ = constant_ && expr.is_constant();
  }
  return found->second;
}

std::uint32_t SymProgram::find(const SymExpr& expr) const {
  const auto found = known_.find(expr.str());
  TRIPTYCH_CHECK(found != known_.end(), "unknown expression " + expr.str());
  return found->second;
}

void SymProgram::compile(const SymExpr& expr) {
  if (expr.is_constant()) return code_.push_back({Code::kConstant, expr.constant()});
  if (expr.is_symbol()) {
    const auto found = symbols_.find(expr.as_symbol());
    TRIPTYCH_CHECK(found != symbols_.end(), "unbound symbol " + expr.str());
    return code_.push_back({Code::kSymbol, found->second});
  }
  if (const auto call = expr.as_call()) {
    static const std::map<std::string_view, Code> kCodes = {{"floordiv", Code::kFloorDiv},
                                                            {"mod", Code::kMod},
                                                            {"min", Code::kMin},
                                                            {"max", Code::kMax}};
    compile(*call->a);
    compile(*call->b);
    return code_.push_back({kCodes.at(call->op), 0});
  }
  bool first = true;
  for (const SymExpr::Term& term : expr.terms()) {
    code_.push_back({Code::kConstant, term.coefficient});
    for (const SymExpr& atom : term.atoms) {
      compile(atom);
      code_.push_back({Code::kMul, 0});
    }
    if (!first) code_.push_back({Code::kAdd, 0});
    first = false;
  }
}

bool SymProgram::evaluate(std::span<const std::int64_t> values,
                          std::span<std::int64_t> results) const {
  std::vector<std::int64_t> stack;
  std::size_t at = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    for (; at < ends_[i]; ++at) {
      const Instruction& step = code_[at];
      if (step.code == Code::kConstant || step.code == Code::kSymbol) {
        stack.push_back(step.code == Code::kConstant ? step.operand : values[step.operand]);
        continue;
      }
      const std::int64_t b = stack.back();
      stack.pop_back();
      std::int64_t& a = stack.back();
      switch (step.code) {
        case Code::kConstant:
        case Code::kSymbol:
          break;
        case Code::kAdd:
          if (__builtin_add_overflow(a, b, &a)) return false;
          break;
        case Code::kMul:
          if (__builtin_mul_overflow(a, b, &a)) return false;
          break;
        case Code::kMin:
          a = std::min(a, b);
          break;
        case Code::kMax:
          a = std::max(a, b);
          break;
        case Code::kFloorDiv:
          if (b == 0) return false;
          a = floor_divide(a, b);
          break;
        case Code::kMod:
          if (b == 0) return false;
          a -= floor_divide(a, b) * b;
          break;
      }
    }
    results[i] = stack.back();
    stack.pop_back();
  }
  return true;
}

}  // namespace triptych::plan
