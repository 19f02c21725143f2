// Rules that need ranges. Each gives an expression with fewer or smaller calls, so rewriting ends.
//
//   (i*C + j)//C -> i, (i*C + j)%C -> j                          0 <= j < C
//   (g*i + j)//(g*C) -> i//C, (g*i + j)%(g*C) -> g*(i%C) + j     0 <= j < g
//   (x//a)//b -> x//(a*b)                                        b > 0
//   min(a, b) -> a, max(a, b) -> b                               a <= b
//   (x//a)*a + x%a -> x, x - (x//a)*a -> x%a
#include <algorithm>

#include "ir/sym_expr.h"
#include "ir/sym_interval.h"
#include "ir/sym_node.h"
#include "ir/sym_proof.h"
#include "support/check.h"

namespace triptych::ir {
namespace {

constexpr int kMaxRounds = 8;

bool proven_in(const SymExpr& e, const SymExpr& end, SymProof& proof) {  // 0 <= e < end
  return proof.nonnegative(e) && proof.nonnegative(end - e - 1);
}

// a == q*b + r with 0 <= r < b.
std::optional<Division> divide_by_ranges(const SymExpr& a, const SymExpr& b, SymProof& proof) {
  Division division = divide(a, b);
  if (proven_in(division.remainder, b, proof)) return division;
  const auto divisor = b.as_constant();
  if (!divisor) return std::nullopt;
  const SymRange range = proof.range(division.remainder);
  if (range.low == SymRange::kNegativeInfinity || range.high == SymRange::kPositiveInfinity) {
    return std::nullopt;
  }
  const std::int64_t whole = floor_divide(range.low, *divisor);
  if (floor_divide(range.high, *divisor) != whole) return std::nullopt;
  return Division{division.quotient + whole, division.remainder - checked_mul(whole, *divisor)};
}

// a == g*multiple + rest with 0 <= rest < g, and b == g*divisor with divisor > 0.
struct Split {
  SymExpr factor, multiple, rest, divisor;
};

std::optional<Split> split_by(const Monomial& g, const SymExpr& a, const Monomial& b,
                              SymProof& proof) {
  Monomial divisor;
  if (!divide_monomial(b, g, divisor)) return std::nullopt;
  Split split{monomial_expr(g), {}, {}, monomial_expr(divisor)};
  const Division division = divide(a, split.factor);
  split.multiple = division.quotient;
  split.rest = division.remainder;
  if (split.multiple == SymExpr() || !proven_in(split.rest, split.factor, proof))
    return std::nullopt;
  if (!proof.nonnegative(split.divisor - 1)) return std::nullopt;
  return split;
}

std::optional<Split> find_split(const SymExpr& a, const SymExpr& b, SymProof& proof) {
  Monomial divisor;
  if (const auto constant = b.as_constant()) {
    divisor.coefficient = *constant;
  } else if (SymNode::terms_of(b).size() == 1 && SymNode::constant_of(b) == 0) {
    divisor = SymNode::terms_of(b).front();
  } else {
    return std::nullopt;
  }
  for (const Monomial& term : SymNode::terms_of(a)) {
    const Monomial common = monomial_gcd(term, divisor);
    if (common.coefficient == 1 && common.atoms.empty()) continue;
    if (auto split = split_by(common, a, divisor, proof)) return split;
  }
  return std::nullopt;
}

SymExpr simplify_floordiv(const SymExpr& a, const SymExpr& b, SymProof& proof) {
  if (const auto division = divide_by_ranges(a, b, proof)) return division->quotient;
  if (const auto split = find_split(a, b, proof)) {
    return simplify_floordiv(split->multiple, split->divisor, proof);
  }
  const SymAtom* inner = single_atom(SymNode::with_constant(a, 0));
  if (inner != nullptr && inner->kind == AtomKind::kFloorDiv && !b.is_constant() &&
      proof.nonnegative(b - 1)) {
    return floordiv(inner->a + inner->b * SymNode::constant_of(a), inner->b * b);
  }
  return floordiv(a, b);
}

SymExpr simplify_mod(const SymExpr& a, const SymExpr& b, SymProof& proof) {
  if (auto division = divide_by_ranges(a, b, proof)) return division->remainder;
  if (const auto split = find_split(a, b, proof)) {
    return simplify_mod(split->multiple, split->divisor, proof) * split->factor + split->rest;
  }
  return mod(a, b);
}

SymExpr simplify_extremum(AtomKind kind, const SymExpr& a, const SymExpr& b, SymProof& proof) {
  if (const auto le = proof.le(a, b)) return (kind == AtomKind::kMin) == *le ? a : b;
  if (const auto ge = proof.le(b, a)) return (kind == AtomKind::kMin) == *ge ? b : a;
  return apply_call(kind, a, b);
}

SymExpr simplify_call(const AtomPtr& atom, SymProof& proof) {
  const SymExpr a = simplify(atom->a, proof), b = simplify(atom->b, proof);
  switch (atom->kind) {
    case AtomKind::kFloorDiv:
      return b == SymExpr() ? atom_expr(atom) : simplify_floordiv(a, b, proof);
    case AtomKind::kMod:
      return b == SymExpr() ? atom_expr(atom) : simplify_mod(a, b, proof);
    case AtomKind::kMin:
    case AtomKind::kMax:
      return simplify_extremum(atom->kind, a, b, proof);
    case AtomKind::kSymbol:
      break;
  }
  TRIPTYCH_UNREACHABLE("a symbol is no call");
}

// An atom stands in many terms, and comes again in every round.
SymExpr simplify_atom(const AtomPtr& atom, SymProof& proof) {
  if (atom->kind == AtomKind::kSymbol) return atom_expr(atom);
  const auto found = proof.simplified().find(atom);
  if (found != proof.simplified().end()) return found->second;
  SymExpr simple = proof.spend(atom->size) ? simplify_call(atom, proof) : atom_expr(atom);
  return proof.simplified().emplace(atom, std::move(simple)).first->second;
}

SymExpr simplify_calls(const SymExpr& e, SymProof& proof) {
  SymExpr sum(SymNode::constant_of(e));
  for (const Monomial& term : SymNode::terms_of(e)) {
    SymExpr replaced(term.coefficient);
    for (const AtomPtr& atom : term.atoms) replaced *= simplify_atom(atom, proof);
    sum += replaced;
  }
  return sum;
}

int complexity(const SymExpr& e) {
  int sum = SymNode::constant_of(e) != 0;
  for (const Monomial& term : SymNode::terms_of(e)) {
    ++sum;
    for (const AtomPtr& atom : term.atoms) {
      sum += atom->kind == AtomKind::kSymbol ? 1 : 2 + complexity(atom->a) + complexity(atom->b);
    }
  }
  return sum;
}

// x == b*floordiv(x, b) + mod(x, b): writes one of the two calls by the other one.
std::optional<SymExpr> exchange(const SymExpr& e, const Monomial& term, std::size_t position) {
  const SymAtom& atom = *term.atoms[position];
  Monomial factor = term;
  factor.atoms.erase(factor.atoms.begin() + static_cast<std::ptrdiff_t>(position));
  const SymExpr scale = monomial_expr(factor);
  const SymExpr without = e - monomial_expr(term);
  if (atom.kind == AtomKind::kMod) {
    return without + scale * (atom.a - atom.b * floordiv(atom.a, atom.b));
  }
  if (atom.kind != AtomKind::kFloorDiv) return std::nullopt;
  const Division by_divisor = divide(scale, atom.b);
  if (by_divisor.remainder != SymExpr()) return std::nullopt;
  return without + by_divisor.quotient * (atom.a - mod(atom.a, atom.b));
}

SymExpr recombine(const SymExpr& e, SymProof& proof) {
  const int before = complexity(e);
  for (const Monomial& term : SymNode::terms_of(e)) {
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      if (term.atoms[i]->kind == AtomKind::kSymbol) continue;
      if (!proof.spend_on(e)) return e;
      const auto exchanged = exchange(e, term, i);
      if (exchanged && complexity(*exchanged) < before) return recombine(*exchanged, proof);
    }
  }
  return e;
}

}  // namespace

SymExpr simplify(const SymExpr& e, SymProof& proof) {
  SymExpr current = e;
  for (int round = 0; round < kMaxRounds && has_calls(current); ++round) {
    SymExpr next = recombine(simplify_calls(current, proof), proof);
    if (next == current) break;
    current = std::move(next);
  }
  return current;
}

SymExpr simplify(const SymExpr& e, const SymRanges& ranges) {
  if (!has_calls(e)) return e;
  SymProof proof(ranges);
  return simplify(e, proof);
}

}  // namespace triptych::ir
