// What ranges prove about expressions.
//
// Interval arithmetic alone loses that two terms move together, so a proof of e >= 0 also tries, in
// this order: to put a loop variable at the end of its range at which e is least (i0*s1 + i1 <=
// s0*s1 - 1); b*floordiv(x, b) = x - mod(x, b); and to measure every atom from its own lower end,
// which shows that s0*s1 - s0 >= 0 when s0, s1 >= 1.
#include <algorithm>

#include "ir/sym_expr.h"
#include "ir/sym_interval.h"
#include "ir/sym_node.h"

namespace triptych::ir {
namespace {

constexpr int kMaxProofDepth = 8;

SymRange atom_range(const SymAtom& atom, const SymRanges& ranges) {
  if (atom.kind == AtomKind::kSymbol) return ranges.get(atom.symbol);
  const SymRange a = atom.a.range(ranges), b = atom.b.range(ranges);
  switch (atom.kind) {
    case AtomKind::kFloorDiv:
      return interval_floordiv(a, b);
    case AtomKind::kMod:
      return interval_mod(a, b);
    case AtomKind::kMin:
      return interval_min(a, b);
    case AtomKind::kMax:
      return interval_max(a, b);
    case AtomKind::kSymbol:
      break;
  }
  return {};
}

SymRange monomial_range(const Monomial& term, const SymRanges& ranges) {
  SymRange out{term.coefficient, term.coefficient};
  for (const AtomPtr& atom : term.atoms) out = interval_multiply(out, atom_range(*atom, ranges));
  return out;
}

bool prove(const SymExpr& e, const SymRanges& ranges, int depth);

// e is linear in a loop variable: e is least at one end of the variable's range.
bool prove_at_loop_end(const SymExpr& e, const SymRanges& ranges, int depth) {
  for (const Symbol symbol : e.symbols()) {
    const SymExpr* extent = ranges.extent(symbol);
    if (extent == nullptr) continue;
    const auto linear = e.linear_in(symbol);
    if (!linear) continue;
    if (prove(*linear->coefficient, ranges, depth - 1))
      return prove(*linear->rest, ranges, depth - 1);
    if (prove(-*linear->coefficient, ranges, depth - 1)) {
      return prove(*linear->coefficient * (*extent - 1) + *linear->rest, ranges, depth - 1);
    }
  }
  return false;
}

// Replaces one term c*b*floordiv(x, b) by c*(x - mod(x, b)).
bool prove_without_floordiv(const SymExpr& e, const SymRanges& ranges, int depth) {
  for (const Monomial& term : SymNode::terms_of(e)) {
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      const SymAtom& atom = *term.atoms[i];
      if (atom.kind != AtomKind::kFloorDiv) continue;
      Monomial factor = term;
      factor.atoms.erase(factor.atoms.begin() + static_cast<std::ptrdiff_t>(i));
      const Division by_divisor = divide(monomial_expr(factor), atom.b);
      if (by_divisor.remainder != SymExpr() || by_divisor.quotient == SymExpr()) continue;
      const SymExpr replaced =
          e - monomial_expr(term) + by_divisor.quotient * (atom.a - mod(atom.a, atom.b));
      if (prove(replaced, ranges, depth - 1)) return true;
    }
  }
  return false;
}

// e with every atom x written as low(x) + x', as a formal polynomial in the x' (which keep x's
// atom).
SymExpr measured_from_lower_ends(const SymExpr& e, const SymRanges& ranges) {
  SymExpr sum(SymNode::constant_of(e));
  for (const Monomial& term : SymNode::terms_of(e)) {
    SymExpr replaced(term.coefficient);
    for (const AtomPtr& atom : term.atoms) {
      const std::int64_t low = atom_range(*atom, ranges).low;
      replaced *= low == SymRange::kNegativeInfinity ? atom_expr(atom) : atom_expr(atom) + low;
    }
    sum += replaced;
  }
  return sum;
}

bool prove_from_lower_ends(const SymExpr& e, const SymRanges& ranges) {
  const SymExpr shifted = measured_from_lower_ends(e, ranges);
  SymRange sum{SymNode::constant_of(shifted), SymNode::constant_of(shifted)};
  for (const Monomial& term : SymNode::terms_of(shifted)) {
    SymRange part{term.coefficient, term.coefficient};
    for (const AtomPtr& atom : term.atoms) {
      SymRange range = atom_range(*atom, ranges);
      if (range.low != SymRange::kNegativeInfinity) {
        range.high = interval_add({range.high, range.high}, {-range.low, -range.low}).high;
        range.low = 0;
      }
      part = interval_multiply(part, range);
    }
    sum = interval_add(sum, part);
  }
  return sum.low >= 0;
}

// The interval of e is exact: a sum of different symbols that do not depend on each other.
bool interval_is_exact(const SymExpr& e, const SymRanges& ranges) {
  for (const Monomial& term : SymNode::terms_of(e)) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::kSymbol) return false;
    const SymExpr* extent = ranges.extent(term.atoms[0]->symbol);
    if (extent != nullptr && !extent->is_constant()) return false;
  }
  return true;
}

bool prove(const SymExpr& e, const SymRanges& ranges, int depth) {
  const SymRange interval = e.range(ranges);
  if (interval.low >= 0) return true;
  if (depth == 0 || interval.high < 0 || interval_is_exact(e, ranges)) return false;
  return prove_from_lower_ends(e, ranges) || prove_at_loop_end(e, ranges, depth) ||
         prove_without_floordiv(e, ranges, depth);
}

}  // namespace

const SymRanges::Entry* SymRanges::find(Symbol symbol) const {
  for (const Entry& entry : entries_) {
    if (entry.symbol == symbol) return &entry;
  }
  return nullptr;
}

SymRanges::Entry& SymRanges::entry(Symbol symbol) {
  if (const Entry* found = find(symbol)) return const_cast<Entry&>(*found);
  return entries_.emplace_back(Entry{symbol, {}, nullptr});
}

void SymRanges::set(Symbol symbol, SymRange range) { entry(symbol).range = range; }

void SymRanges::set_extent(Symbol symbol, const SymExpr& extent) {
  const std::int64_t high = extent.range(*this).high;
  Entry& changed = entry(symbol);
  changed.range = {
      0, high == SymRange::kPositiveInfinity ? high : std::max<std::int64_t>(high - 1, 0)};
  changed.extent = std::make_shared<const SymExpr>(extent);
}

SymRange SymRanges::get(Symbol symbol) const {
  const Entry* found = find(symbol);
  return found == nullptr ? SymRange{} : found->range;
}

const SymExpr* SymRanges::extent(Symbol symbol) const {
  const Entry* found = find(symbol);
  return found == nullptr ? nullptr : found->extent.get();
}

SymRange SymExpr::range(const SymRanges& ranges) const {
  SymRange sum{constant_, constant_};
  for (const Monomial& term : SymNode::terms_of(*this)) {
    sum = interval_add(sum, monomial_range(term, ranges));
  }
  return sum;
}

bool proven_nonnegative(const SymExpr& e, const SymRanges& ranges) {
  return prove(e, ranges, kMaxProofDepth);
}

std::optional<bool> known_le(const SymExpr& a, const SymExpr& b, const SymRanges& ranges) {
  const SymExpr difference = b - a;
  if (difference.is_constant()) return difference.constant() >= 0;
  if (proven_nonnegative(difference, ranges)) return true;
  if (proven_nonnegative(-difference - 1, ranges)) return false;
  return std::nullopt;
}

std::optional<bool> known_lt(const SymExpr& a, const SymExpr& b, const SymRanges& ranges) {
  return known_le(a + 1, b, ranges);
}

std::optional<bool> known_eq(const SymExpr& a, const SymExpr& b, const SymRanges& ranges) {
  SymExpr difference = b - a;
  if (difference.is_constant()) return difference.constant() == 0;
  difference = simplify(difference, ranges);
  if (difference.is_constant()) return difference.constant() == 0;
  const bool at_least_zero = proven_nonnegative(difference, ranges);
  if (at_least_zero && proven_nonnegative(-difference, ranges)) return true;
  if (at_least_zero && proven_nonnegative(difference - 1, ranges)) return false;
  if (proven_nonnegative(-difference - 1, ranges)) return false;
  return std::nullopt;
}

}  // namespace triptych::ir
