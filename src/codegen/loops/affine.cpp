#include "codegen/loops/affine.h"

#include <algorithm>

namespace triptych::loops {

const SymExpr& Affine::coefficient(Symbol variable) const {
  static const SymExpr zero;
  for (const Term& term : terms) {
    if (term.variable == variable) return term.coefficient;
  }
  return zero;
}

Affine affine_in(const SymExpr& e, std::span<const Symbol> variables) {
  Affine result;
  if (e.is_constant()) {
    result.rest = e;
    return result;
  }
  std::vector<SymExpr> coefficients(variables.size());
  const auto position = [&](const SymExpr& atom) -> std::size_t {
    if (!atom.is_symbol()) return variables.size();
    const Symbol symbol = atom.as_symbol();
    return static_cast<std::size_t>(std::find(variables.begin(), variables.end(), symbol) -
                                    variables.begin());
  };
  for (const SymExpr::Term& term : e.terms()) {
    SymExpr rest(term.coefficient);
    std::size_t variable = variables.size();
    for (const SymExpr& atom : term.atoms) {
      const std::size_t found = position(atom);
      if (found < variables.size()) {
        if (variable < variables.size())
          return Affine{false, {}, {}};  // a product of two variables
        variable = found;
        continue;
      }
      if (!atom.is_symbol()) {
        for (Symbol symbol : variables) {
          if (atom.depends_on(symbol)) return Affine{false, {}, {}};
        }
      }
      rest *= atom;
    }
    (variable < variables.size() ? coefficients[variable] : result.rest) += rest;
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (coefficients[i] != SymExpr(0)) result.terms.push_back({variables[i], coefficients[i]});
  }
  return result;
}

std::optional<SymExpr> exact_quotient(const SymExpr& a, const SymExpr& b) {
  if (b == SymExpr(1)) return a;
  if (a == b) return SymExpr(1);
  if (b == SymExpr(0)) return std::nullopt;
  if (a.is_constant() && b.is_constant()) {
    if (a.constant() % b.constant() != 0) return std::nullopt;
    return SymExpr(a.constant() / b.constant());
  }
  const SymExpr quotient = floordiv(a, b);
  if (quotient * b == a) return quotient;
  return std::nullopt;
}

bool surely_le(const SymExpr& a, const SymExpr& b) {
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  if (a == b) return true;
  ir::SymRanges ranges;
  for (const SymExpr* e : {&a, &b}) {
    for (Symbol symbol : e->symbols()) ranges.set(symbol, {2, ir::SymRange::kPositiveInfinity});
  }
  return known_le(a, b, ranges).value_or(false);
}

}  // namespace triptych::loops
