// The constructors of floordiv, mod, min and max: rules that hold for all values of the symbols.
//
// Examples (b a positive constant):
//   (8*s0 + s1 + 5)//4    ->  2*s0 + (s1 + 1)//4 + 1
//   (4*s0 + 6)//8         ->  (s0 + 1)//2
//   -(-s0//4)             ->  (s0 + 3)//4            a ceiling division has one form
//   (s0//4)//2            ->  s0//8
//   mod(4*s0 + 6, 8)      ->  4*mod(s0 + 1, 2) + 2
#include <algorithm>
#include <numeric>

#include "ir/sym_expr.h"
#include "ir/sym_node.h"
#include "support/check.h"

namespace triptych::ir {
namespace {

// Long division of polynomials ends because the first term gets smaller; this only bounds its cost.
constexpr int kMaxDivisionSteps = 32;

Division divide_by_constant(const SymExpr& a, std::int64_t b) {
  std::vector<Monomial> quotient, remainder;
  for (const Monomial& term : SymNode::terms_of(a)) {
    const std::int64_t q = term.coefficient / b, r = term.coefficient % b;
    if (q != 0) quotient.push_back({q, term.atoms});
    if (r != 0) remainder.push_back({r, term.atoms});
  }
  const std::int64_t constant = SymNode::constant_of(a);
  return {SymNode::from_canonical(std::move(quotient), floor_divide(constant, b)),
          SymNode::from_canonical(std::move(remainder), floor_modulo(constant, b))};
}

Division divide_by_polynomial(const SymExpr& a, const SymExpr& b) {
  const Monomial& lead = SymNode::terms_of(b).front();
  SymExpr quotient, rest = a;
  for (int step = 0; step < kMaxDivisionSteps; ++step) {
    Monomial factor;
    const auto& terms = SymNode::terms_of(rest);
    const auto found = std::find_if(terms.begin(), terms.end(), [&](const Monomial& term) {
      return divide_monomial(term, lead, factor);
    });
    if (found == terms.end()) break;
    const SymExpr part = monomial_expr(factor);
    quotient += part;
    rest = rest - part * b;
  }
  return {quotient, rest};
}

bool is_monomial(const SymExpr& e) {
  return SymNode::constant_of(e) == 0 && SymNode::terms_of(e).size() == 1;
}

std::int64_t leading_coefficient(const SymExpr& e) {
  return SymNode::has_terms(e) ? SymNode::terms_of(e).front().coefficient : SymNode::constant_of(e);
}

// What divides every term of both (positive coefficient); the constant 1 when nothing does.
Monomial common_factor(const SymExpr& a, const SymExpr& b) {
  std::optional<Monomial> common;
  const auto visit = [&](const Monomial& term) {
    common =
        common ? monomial_gcd(*common, term) : Monomial{std::abs(term.coefficient), term.atoms};
  };
  for (const SymExpr* e : {&a, &b}) {
    for (const Monomial& term : SymNode::terms_of(*e)) visit(term);
    if (SymNode::constant_of(*e) != 0) visit({SymNode::constant_of(*e), {}});
  }
  return common.value_or(Monomial{});
}

SymExpr divide_exactly(const SymExpr& e, const Monomial& factor) {
  std::vector<Monomial> terms;
  for (const Monomial& term : SymNode::terms_of(e)) {
    Monomial quotient;
    TRIPTYCH_CHECK(divide_monomial(term, factor, quotient), "the factor divides every term");
    terms.push_back(std::move(quotient));
  }
  std::int64_t constant = SymNode::constant_of(e) / factor.coefficient;
  // A term equal to the factor became a number.
  std::erase_if(terms, [&](const Monomial& term) {
    if (term.atoms.empty()) constant = checked_add(constant, term.coefficient);
    return term.atoms.empty();
  });
  return SymNode::make(std::move(terms), constant);
}

bool is_one(const Monomial& m) { return m.coefficient == 1 && m.atoms.empty(); }

std::int64_t gcd_of_terms(const SymExpr& e, std::int64_t start) {
  std::int64_t gcd = start;
  for (const Monomial& term : SymNode::terms_of(e)) gcd = std::gcd(gcd, term.coefficient);
  return gcd;
}

// r == 1*floordiv(x, y) + c: the floordiv atom.
const SymAtom* floordiv_plus_constant(const SymExpr& r) {
  const SymAtom* atom = single_atom(SymNode::with_constant(r, 0));
  return atom != nullptr && atom->kind == AtomKind::kFloorDiv ? atom : nullptr;
}

// floordiv of a remainder of divide_by_constant.
SymExpr floordiv_by_constant(const SymExpr& r, std::int64_t b) {
  if (r.is_constant()) return floor_divide(r.constant(), b);
  if (leading_coefficient(r) < 0) return -floordiv(-r + (b - 1), b);
  const std::int64_t gcd = gcd_of_terms(r, b);
  if (gcd > 1) {
    // floor((g*y + c) / (g*b)) == floor((y + floor(c/g)) / b)
    const Division by_gcd = divide_by_constant(r, gcd);
    return floordiv(by_gcd.quotient, b / gcd);
  }
  if (const SymAtom* inner = floordiv_plus_constant(r)) {
    // floor((floor(x/y) + c) / b) == floor((x + c*y) / (y*b)), b > 0
    return floordiv(inner->a + inner->b * SymNode::constant_of(r), inner->b * b);
  }
  return atom_expr(make_call(AtomKind::kFloorDiv, r, b));
}

SymExpr floordiv_by_polynomial(const SymExpr& r, const SymExpr& b) {
  if (r == SymExpr()) return r;
  const Monomial common = common_factor(r, b);
  if (!is_one(common)) return floordiv(divide_exactly(r, common), divide_exactly(b, common));
  return atom_expr(make_call(AtomKind::kFloorDiv, r, b));
}

// A term c*mod(x, m) with b dividing c*m counts as c*x modulo b.
std::optional<SymExpr> unwrap_inner_mod(const SymExpr& r, std::int64_t b) {
  for (const Monomial& term : SymNode::terms_of(r)) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::kMod) continue;
    const auto inner = term.atoms[0]->b.as_constant();
    if (!inner || checked_mul(*inner, term.coefficient) % b != 0) continue;
    return r - monomial_expr(term) + term.atoms[0]->a * term.coefficient;
  }
  return std::nullopt;
}

SymExpr mod_by_constant(const SymExpr& r, std::int64_t b) {
  if (r.is_constant()) return floor_modulo(r.constant(), b);
  if (leading_coefficient(r) < 0) return SymExpr(b - 1) - mod(-r + (b - 1), b);
  const std::int64_t gcd = gcd_of_terms(r, b);
  if (gcd > 1) {
    // mod(g*y + c, g*b) == g*mod(y + floor(c/g), b) + mod(c, g)
    const Division by_gcd = divide_by_constant(r, gcd);
    return mod(by_gcd.quotient, b / gcd) * gcd + by_gcd.remainder;
  }
  if (const auto unwrapped = unwrap_inner_mod(r, b)) return mod(*unwrapped, b);
  return atom_expr(make_call(AtomKind::kMod, r, b));
}

SymExpr mod_by_polynomial(const SymExpr& r, const SymExpr& b) {
  if (r == SymExpr()) return r;
  const Monomial common = common_factor(r, b);
  if (!is_one(common)) {
    return mod(divide_exactly(r, common), divide_exactly(b, common)) * monomial_expr(common);
  }
  return atom_expr(make_call(AtomKind::kMod, r, b));
}

// By several terms only an exact division is taken: a partial one has no canonical form.
Division divide_canonically(const SymExpr& a, const SymExpr& b) {
  Division division = divide(a, b);
  if (!b.is_constant() && !is_monomial(b) && division.remainder != SymExpr()) return {SymExpr(), a};
  return division;
}

void flatten(AtomKind kind, const SymExpr& e, std::vector<SymExpr>& out) {
  const SymAtom* atom = single_atom(e);
  if (atom != nullptr && atom->kind == kind) {
    flatten(kind, atom->a, out);
    flatten(kind, atom->b, out);
  } else {
    out.push_back(e);
  }
}

// min and max: flat, sorted, operands that another one decides are dropped.
SymExpr extremum(AtomKind kind, const SymExpr& a, const SymExpr& b) {
  std::vector<SymExpr> operands, kept;
  flatten(kind, a, operands);
  flatten(kind, b, operands);
  for (const SymExpr& operand : operands) {
    bool dropped = false;
    for (SymExpr& other : kept) {
      const SymExpr difference = operand - other;
      if (!difference.is_constant()) continue;
      const bool better =
          kind == AtomKind::kMin ? difference.constant() < 0 : difference.constant() > 0;
      if (better) other = operand;
      dropped = true;
      break;
    }
    if (!dropped) kept.push_back(operand);
  }
  std::sort(kept.begin(), kept.end(),
            [](const SymExpr& x, const SymExpr& y) { return SymExpr::compare(x, y) < 0; });
  SymExpr out = kept.back();
  for (std::size_t i = kept.size() - 1; i-- > 0;) out = atom_expr(make_call(kind, kept[i], out));
  return out;
}

}  // namespace

bool divide_monomial(const Monomial& a, const Monomial& b, Monomial& quotient) {
  if (a.coefficient % b.coefficient != 0 || a.atoms.size() < b.atoms.size()) return false;
  quotient = {a.coefficient / b.coefficient, {}};
  std::size_t i = 0;
  for (const AtomPtr& atom : a.atoms) {
    if (i < b.atoms.size() && compare_atoms(*atom, *b.atoms[i]) == 0) {
      ++i;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  return i == b.atoms.size();
}

Monomial monomial_gcd(const Monomial& a, const Monomial& b) {
  Monomial out{std::gcd(a.coefficient, b.coefficient), {}};
  for (std::size_t i = 0, j = 0; i < a.atoms.size() && j < b.atoms.size();) {
    const int order = compare_atoms(*a.atoms[i], *b.atoms[j]);
    if (order == 0) out.atoms.push_back(a.atoms[i]);
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  return out;
}

Division divide(const SymExpr& a, const SymExpr& b) {
  return b.is_constant() ? divide_by_constant(a, b.constant()) : divide_by_polynomial(a, b);
}

SymExpr floordiv(const SymExpr& a, const SymExpr& b) {
  TRIPTYCH_CHECK(b != SymExpr(), "floordiv by the constant 0");
  if (a.is_constant() && b.is_constant()) return floor_divide(a.constant(), b.constant());
  if (leading_coefficient(b) < 0) return floordiv(-a, -b);
  const Division division = divide_canonically(a, b);
  return division.quotient + (b.is_constant()
                                  ? floordiv_by_constant(division.remainder, b.constant())
                                  : floordiv_by_polynomial(division.remainder, b));
}

SymExpr mod(const SymExpr& a, const SymExpr& b) {
  TRIPTYCH_CHECK(b != SymExpr(), "mod by the constant 0");
  if (a.is_constant() && b.is_constant()) return floor_modulo(a.constant(), b.constant());
  if (leading_coefficient(b) < 0) return -mod(-a, -b);
  const Division division = divide_canonically(a, b);
  return b.is_constant() ? mod_by_constant(division.remainder, b.constant())
                         : mod_by_polynomial(division.remainder, b);
}

SymExpr min(const SymExpr& a, const SymExpr& b) { return extremum(AtomKind::kMin, a, b); }
SymExpr max(const SymExpr& a, const SymExpr& b) { return extremum(AtomKind::kMax, a, b); }
SymExpr ceildiv(const SymExpr& a, const SymExpr& b) { return -floordiv(-a, b); }

}  // namespace triptych::ir
