// Indices as linear forms over loop variables, and the few facts about sizes that loop passes ask
// for.
#pragma once

#include <span>
#include <vector>

#include "ir/sym_expr.h"

namespace triptych::loops {

using ir::Symbol;
using ir::SymExpr;

// e == rest + sum of coefficient * variable, where nothing else depends on the variables; `linear`
// is false when there is no such form (the other fields are then empty).
struct Affine {
  struct Term {
    Symbol variable;
    SymExpr coefficient;
  };
  bool linear = true;
  std::vector<Term> terms;  // each variable once, in the order of `variables`
  SymExpr rest;

  const SymExpr& coefficient(Symbol variable) const;  // 0 when absent
};
Affine affine_in(const SymExpr& e, std::span<const Symbol> variables);

// a / b when it is exact for all values of the symbols; nullopt when that is not known.
std::optional<SymExpr> exact_quotient(const SymExpr& a, const SymExpr& b);

// Sizes are at least 0, symbolic ones at least 2 (0 and 1 are specialised). Proves a <= b under
// that.
bool surely_le(const SymExpr& a, const SymExpr& b);

}  // namespace triptych::loops
