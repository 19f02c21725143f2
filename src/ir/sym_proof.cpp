// What ranges prove about expressions.
//
// Interval arithmetic alone loses that two terms move together, so a proof of e >= 0 also tries, in
// this order: to measure every atom from its own lower end, which shows that s0*s1 - s0 >= 0 when
// s0, s1 >= 1; to put a loop variable at the end of its range at which e is least (i0*s1 + i1 <=
// s0*s1 - 1); and b*floordiv(x, b) = x - mod(x, b).
#include "ir/sym_proof.h"

#include <algorithm>

#include "ir/sym_interval.h"

namespace triptych::ir {
namespace {

// Proofs that succeed take tens of steps, the longest that convolutions with all sizes symbolic
// gave 800; those that fail would go through every combination of terms.
constexpr std::size_t kMaxProofSteps = 1024;
constexpr std::size_t kMaxSteps = 16 * kMaxProofSteps;
constexpr int kMaxProofDepth = 8;

}  // namespace

bool SymProof::spend(std::size_t steps) {
  steps_ += steps;
  proof_steps_ += steps;
  return steps_ <= kMaxSteps && proof_steps_ <= kMaxProofSteps;
}

SymRange SymProof::atom_range(const AtomPtr& atom) {
  if (atom->kind == AtomKind::kSymbol) return ranges_.get(atom->symbol);
  if (const auto found = atom_ranges_.find(atom); found != atom_ranges_.end()) return found->second;
  const SymRange a = range(atom->a), b = range(atom->b);
  SymRange out;
  switch (atom->kind) {
    case AtomKind::kFloorDiv:
      out = interval_floordiv(a, b);
      break;
    case AtomKind::kMod:
      out = interval_mod(a, b);
      break;
    case AtomKind::kMin:
      out = interval_min(a, b);
      break;
    case AtomKind::kMax:
      out = interval_max(a, b);
      break;
    case AtomKind::kSymbol:
      break;
  }
  atom_ranges_.emplace(atom, out);
  return out;
}

SymRange SymProof::monomial_range(const Monomial& term) {
  SymRange out{term.coefficient, term.coefficient};
  for (const AtomPtr& atom : term.atoms) out = interval_multiply(out, atom_range(atom));
  return out;
}

SymRange SymProof::range(const SymExpr& e) {
  SymRange sum{SymNode::constant_of(e), SymNode::constant_of(e)};
  for (const Monomial& term : SymNode::terms_of(e)) sum = interval_add(sum, monomial_range(term));
  return sum;
}

// e is linear in a loop variable: e is least at one end of the variable's range.
bool SymProof::prove_at_loop_end(const SymExpr& e, int depth) {
  for (const Symbol symbol : e.symbols()) {
    const SymExpr* extent = ranges_.extent(symbol);
    if (extent == nullptr) continue;
    const auto linear = e.linear_in(symbol);
    if (!linear) continue;
    if (prove(*linear->coefficient, depth - 1)) return prove(*linear->rest, depth - 1);
    if (prove(-*linear->coefficient, depth - 1)) {
      return prove(*linear->coefficient * (*extent - 1) + *linear->rest, depth - 1);
    }
  }
  return false;
}

// Replaces one term c*b*floordiv(x, b) by c*(x - mod(x, b)).
bool SymProof::prove_without_floordiv(const SymExpr& e, int depth) {
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
      if (prove(replaced, depth - 1)) return true;
      if (!spend(1)) return false;
    }
  }
  return false;
}

// e with every atom x written as low(x) + x', as a formal polynomial in the x' (which keep x's
// atom).
SymExpr SymProof::measured_from_lower_ends(const SymExpr& e) {
  SymExpr sum(SymNode::constant_of(e));
  for (const Monomial& term : SymNode::terms_of(e)) {
    SymExpr replaced(term.coefficient);
    for (const AtomPtr& atom : term.atoms) {
      const std::int64_t low = atom_range(atom).low;
      replaced *= low == SymRange::kNegativeInfinity ? atom_expr(atom) : atom_expr(atom) + low;
    }
    sum += replaced;
  }
  return sum;
}

bool SymProof::prove_from_lower_ends(const SymExpr& e) {
  std::size_t expanded = 0;
  for (const Monomial& term : SymNode::terms_of(e)) {
    expanded += std::size_t{1} << std::min<std::size_t>(term.atoms.size(), 32);
  }
  if (!spend(expanded)) return false;
  const SymExpr shifted = measured_from_lower_ends(e);
  SymRange sum{SymNode::constant_of(shifted), SymNode::constant_of(shifted)};
  for (const Monomial& term : SymNode::terms_of(shifted)) {
    SymRange part{term.coefficient, term.coefficient};
    for (const AtomPtr& atom : term.atoms) {
      SymRange range = atom_range(atom);
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
bool SymProof::interval_is_exact(const SymExpr& e) const {
  for (const Monomial& term : SymNode::terms_of(e)) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::kSymbol) return false;
    const SymExpr* extent = ranges_.extent(term.atoms[0]->symbol);
    if (extent != nullptr && !extent->is_constant()) return false;
  }
  return true;
}

bool SymProof::prove(const SymExpr& e, int depth) {
  const SymRange interval = range(e);
  if (interval.low >= 0) return true;
  if (depth == 0 || interval.high < 0 || interval_is_exact(e)) return false;
  const auto [met, is_new] = unproven_.emplace(e, depth);
  if (!is_new && met->second >= depth) return false;
  met->second = depth;
  if (!spend_on(e)) return false;
  return prove_from_lower_ends(e) || prove_at_loop_end(e, depth) ||
         prove_without_floordiv(e, depth);
}

bool SymProof::nonnegative(const SymExpr& e) {
  proof_steps_ = 0;
  unproven_.clear();
  return prove(e, kMaxProofDepth);
}

std::optional<bool> SymProof::le(const SymExpr& a, const SymExpr& b) {
  const SymExpr difference = b - a;
  if (difference.is_constant()) return difference.constant() >= 0;
  if (nonnegative(difference)) return true;
  if (nonnegative(-difference - 1)) return false;
  return std::nullopt;
}

}  // namespace triptych::ir
