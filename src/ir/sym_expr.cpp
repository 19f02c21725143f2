#include "ir/sym_expr.h"

#include <algorithm>

#include "ir/sym_node.h"
#include "ir/sym_size.h"
#include "support/check.h"

namespace triptych::ir {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t hash_terms(const std::vector<Monomial>& terms) {
  std::size_t hash = terms.size();
  for (const Monomial& term : terms) {
    hash = mix(hash, static_cast<std::size_t>(term.coefficient));
    for (const AtomPtr& atom : term.atoms) hash = mix(hash, atom->hash);
  }
  return hash;
}

// An expression that doubles at every step is past any limit long before this.
constexpr std::size_t kLargestSize = std::size_t{1} << 40;

std::size_t size_of_terms(const std::vector<Monomial>& terms) {
  std::size_t size = terms.size();
  for (const Monomial& term : terms) {
    for (const AtomPtr& atom : term.atoms) size += atom->size;
  }
  return std::min(size, kLargestSize);
}

int compare_ints(std::int64_t a, std::int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

// Both are canonical; so is the result.
std::vector<Monomial> merge(const std::vector<Monomial>& a, const std::vector<Monomial>& b,
                            std::int64_t sign) {
  std::vector<Monomial> out;
  out.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const int order = i == a.size() ? 1 : j == b.size() ? -1 : compare_atoms_of(a[i], b[j]);
    if (order < 0) {
      out.push_back(a[i++]);
    } else if (order > 0) {
      out.push_back({checked_mul(b[j].coefficient, sign), b[j].atoms});
      ++j;
    } else {
      const std::int64_t sum = checked_add(a[i].coefficient, checked_mul(b[j].coefficient, sign));
      if (sum != 0) out.push_back({sum, a[i].atoms});
      ++i;
      ++j;
    }
  }
  return out;
}

SymExpr scale(const SymExpr& e, std::int64_t factor) {
  if (factor == 0) return SymExpr();
  if (factor == 1) return e;
  std::vector<Monomial> terms = SymNode::terms_of(e);
  for (Monomial& term : terms) term.coefficient = checked_mul(term.coefficient, factor);
  return SymNode::from_canonical(std::move(terms), checked_mul(SymNode::constant_of(e), factor));
}

Monomial multiply(const Monomial& a, const Monomial& b) {
  Monomial out{checked_mul(a.coefficient, b.coefficient), {}};
  out.atoms.reserve(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
             std::back_inserter(out.atoms),
             [](const AtomPtr& x, const AtomPtr& y) { return compare_atoms(*x, *y) < 0; });
  return out;
}

// Each symbol once, in order of first appearance: there are few, so that a search is cheaper than a
// set.
void collect_symbols(const SymExpr& e, std::vector<Symbol>& out) {
  for (const Monomial& term : SymNode::terms_of(e)) {
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind != AtomKind::kSymbol) {
        collect_symbols(atom->a, out);
        collect_symbols(atom->b, out);
      } else if (std::find(out.begin(), out.end(), atom->symbol) == out.end()) {
        out.push_back(atom->symbol);
      }
    }
  }
}

bool atom_depends_on(const SymAtom& atom, Symbol symbol) {
  if (atom.kind == AtomKind::kSymbol) return atom.symbol == symbol;
  return atom.a.depends_on(symbol) || atom.b.depends_on(symbol);
}

std::string_view call_name(AtomKind kind) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      return "floordiv";
    case AtomKind::kMod:
      return "mod";
    case AtomKind::kMin:
      return "min";
    case AtomKind::kMax:
      return "max";
    case AtomKind::kSymbol:
      break;
  }
  TRIPTYCH_UNREACHABLE("a symbol has no call name");
}

std::optional<std::int64_t> evaluate_call(AtomKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      return floor_divide(a, b);
    case AtomKind::kMod:
      if (b == 0) return std::nullopt;
      return floor_modulo(a, b);
    case AtomKind::kMin:
      return std::min(a, b);
    case AtomKind::kMax:
      return std::max(a, b);
    case AtomKind::kSymbol:
      break;
  }
  TRIPTYCH_UNREACHABLE("a symbol is no call");
}

std::optional<std::int64_t> evaluate_atom(
    const SymAtom& atom, const std::function<std::optional<std::int64_t>(Symbol)>& value) {
  if (atom.kind == AtomKind::kSymbol) return value(atom.symbol);
  const auto a = atom.a.evaluate(value);
  const auto b = atom.b.evaluate(value);
  if (!a || !b) return std::nullopt;
  return evaluate_call(atom.kind, *a, *b);
}

}  // namespace

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  TRIPTYCH_CHECK(!__builtin_add_overflow(a, b, &out), "a symbolic expression overflows 64 bits");
  return out;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  TRIPTYCH_CHECK(!__builtin_mul_overflow(a, b, &out), "a symbolic expression overflows 64 bits");
  return out;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return checked_mul(a, -1);
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_modulo(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

const std::vector<Monomial>& SymNode::terms_of(const SymExpr& e) {
  static const std::vector<Monomial> none;
  return e.node_ ? e.node_->terms : none;
}

std::size_t SymNode::size_of(const SymExpr& e) {
  return (e.node_ ? e.node_->size : 0) + (e.constant_ != 0);
}

SymExpr SymNode::with_constant(const SymExpr& e, std::int64_t constant) {
  SymExpr out = e;
  out.constant_ = constant;
  return out;
}

SymExpr SymNode::from_canonical(std::vector<Monomial> terms, std::int64_t constant) {
  if (terms.empty()) return SymExpr(constant);
  const std::size_t hash = hash_terms(terms), size = size_of_terms(terms);
  SymExpr out(std::make_shared<const SymNode>(SymNode{std::move(terms), hash, size}));
  out.constant_ = constant;
  return out;
}

SymExpr SymNode::make(std::vector<Monomial> terms, std::int64_t constant) {
  std::sort(terms.begin(), terms.end(),
            [](const Monomial& a, const Monomial& b) { return compare_atoms_of(a, b) < 0; });
  std::vector<Monomial> out;
  for (Monomial& term : terms) {
    if (!out.empty() && compare_atoms_of(out.back(), term) == 0) {
      out.back().coefficient = checked_add(out.back().coefficient, term.coefficient);
    } else {
      if (!out.empty() && out.back().coefficient == 0) out.pop_back();
      out.push_back(std::move(term));
    }
  }
  if (!out.empty() && out.back().coefficient == 0) out.pop_back();
  return from_canonical(std::move(out), constant);
}

int compare_atoms(const SymAtom& a, const SymAtom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::kSymbol) {
    if (a.symbol == b.symbol) return 0;
    return a.symbol < b.symbol ? -1 : 1;
  }
  const int order = SymExpr::compare(a.a, b.a);
  return order != 0 ? order : SymExpr::compare(a.b, b.b);
}

int compare_atoms_of(const Monomial& a, const Monomial& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    const int order = compare_atoms(*a.atoms[i], *b.atoms[i]);
    if (order != 0) return order;
  }
  return 0;
}

std::size_t hash_atom(const SymAtom& atom) {
  if (atom.kind == AtomKind::kSymbol) return std::hash<std::string>()(atom.symbol.str());
  return mix(mix(static_cast<std::size_t>(atom.kind), atom.a.hash()), atom.b.hash());
}

SymExpr atom_expr(AtomPtr atom) {
  std::vector<Monomial> terms(1);
  terms[0].atoms.push_back(std::move(atom));
  return SymNode::from_canonical(std::move(terms), 0);
}

SymExpr monomial_expr(const Monomial& monomial) {
  if (monomial.coefficient == 0) return SymExpr();
  if (monomial.atoms.empty()) return SymExpr(monomial.coefficient);
  return SymNode::from_canonical({monomial}, 0);
}

AtomPtr make_call(AtomKind kind, const SymExpr& a, const SymExpr& b) {
  auto atom =
      std::make_shared<SymAtom>(SymAtom{kind, Symbol(), a, b, 0, 1 + size_of(a) + size_of(b)});
  atom->hash = hash_atom(*atom);
  return atom;
}

SymExpr apply_call(AtomKind kind, const SymExpr& a, const SymExpr& b) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      return floordiv(a, b);
    case AtomKind::kMod:
      return mod(a, b);
    case AtomKind::kMin:
      return min(a, b);
    case AtomKind::kMax:
      return max(a, b);
    case AtomKind::kSymbol:
      break;
  }
  TRIPTYCH_UNREACHABLE("a symbol is no call");
}

const SymAtom* single_atom(const SymExpr& e) {
  const auto& terms = SymNode::terms_of(e);
  if (SymNode::constant_of(e) != 0 || terms.size() != 1) return nullptr;
  if (terms[0].coefficient != 1 || terms[0].atoms.size() != 1) return nullptr;
  return terms[0].atoms[0].get();
}

bool has_calls(const SymExpr& e) {
  for (const Monomial& term : SymNode::terms_of(e)) {
    // Symbols sort before calls.
    if (term.atoms.back()->kind != AtomKind::kSymbol) return true;
  }
  return false;
}

SymExpr SymExpr::symbol(Symbol name) {
  auto atom = std::make_shared<SymAtom>(SymAtom{AtomKind::kSymbol, name, {}, {}, 0, 1});
  atom->hash = hash_atom(*atom);
  return atom_expr(std::move(atom));
}

SymExpr SymExpr::symbol(std::string_view name) { return symbol(Symbol(name)); }

std::int64_t SymExpr::constant() const {
  TRIPTYCH_CHECK(is_constant(), "the expression " + str() + " is no constant");
  return constant_;
}

std::optional<std::int64_t> SymExpr::as_constant() const {
  return is_constant() ? std::optional(constant_) : std::nullopt;
}

bool SymExpr::is_symbol() const {
  const SymAtom* atom = single_atom(*this);
  return atom != nullptr && atom->kind == AtomKind::kSymbol;
}

Symbol SymExpr::as_symbol() const {
  const SymAtom* atom = single_atom(*this);
  TRIPTYCH_CHECK(atom != nullptr && atom->kind == AtomKind::kSymbol,
                 "the expression " + str() + " is no symbol");
  return atom->symbol;
}

SymExpr operator+(const SymExpr& a, const SymExpr& b) {
  const std::int64_t constant = checked_add(a.constant_, b.constant_);
  if (!b.node_) return SymNode::with_constant(a, constant);
  if (!a.node_) return SymNode::with_constant(b, constant);
  return SymNode::from_canonical(merge(a.node_->terms, b.node_->terms, 1), constant);
}

SymExpr operator-(const SymExpr& a, const SymExpr& b) {
  std::int64_t constant = 0;
  TRIPTYCH_CHECK(!__builtin_sub_overflow(a.constant_, b.constant_, &constant),
                 "a symbolic expression overflows 64 bits");
  if (!b.node_) return SymNode::with_constant(a, constant);
  if (a.node_ == b.node_) return SymExpr(constant);
  return SymNode::from_canonical(merge(SymNode::terms_of(a), b.node_->terms, -1), constant);
}

SymExpr SymExpr::operator-() const { return SymExpr() - *this; }

SymExpr operator*(const SymExpr& a, const SymExpr& b) {
  if (!b.node_)
    return a.node_ ? scale(a, b.constant_) : SymExpr(checked_mul(a.constant_, b.constant_));
  if (!a.node_) return scale(b, a.constant_);
  std::vector<Monomial> terms;
  for (const Monomial& x : a.node_->terms) {
    for (const Monomial& y : b.node_->terms) terms.push_back(multiply(x, y));
    if (b.constant_ != 0) terms.push_back({checked_mul(x.coefficient, b.constant_), x.atoms});
  }
  if (a.constant_ != 0) {
    for (const Monomial& y : b.node_->terms) {
      terms.push_back({checked_mul(y.coefficient, a.constant_), y.atoms});
    }
  }
  return SymNode::make(std::move(terms), checked_mul(a.constant_, b.constant_));
}

bool operator==(const SymExpr& a, const SymExpr& b) {
  if (a.constant_ != b.constant_) return false;
  if (a.node_ == b.node_) return true;
  if (!a.node_ || !b.node_ || a.node_->hash != b.node_->hash) return false;
  return SymExpr::compare(a, b) == 0;
}

int SymExpr::compare(const SymExpr& a, const SymExpr& b) {
  if (a.node_ != b.node_) {
    const auto& x = SymNode::terms_of(a);
    const auto& y = SymNode::terms_of(b);
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (const int order = compare_atoms_of(x[i], y[i])) return order;
      if (const int order = compare_ints(x[i].coefficient, y[i].coefficient)) return order;
    }
    if (x.size() != y.size()) return x.size() > y.size() ? -1 : 1;
  }
  return compare_ints(a.constant_, b.constant_);
}

std::vector<Symbol> SymExpr::symbols() const {
  std::vector<Symbol> found;
  if (node_) collect_symbols(*this, found);
  std::sort(found.begin(), found.end());
  return found;
}

bool SymExpr::depends_on(Symbol symbol) const {
  if (!node_) return false;
  for (const Monomial& term : node_->terms) {
    for (const AtomPtr& atom : term.atoms) {
      if (atom_depends_on(*atom, symbol)) return true;
    }
  }
  return false;
}

std::optional<SymExpr::Linear> SymExpr::linear_in(Symbol symbol) const {
  std::vector<Monomial> rest;
  SymExpr coefficient;
  for (const Monomial& term : SymNode::terms_of(*this)) {
    int power = 0;
    Monomial without{term.coefficient, {}};
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind == AtomKind::kSymbol && atom->symbol == symbol) {
        ++power;
      } else if (atom_depends_on(*atom, symbol)) {
        return std::nullopt;
      } else {
        without.atoms.push_back(atom);
      }
    }
    if (power > 1) return std::nullopt;
    if (power == 1) {
      coefficient += monomial_expr(without);
    } else {
      rest.push_back(term);
    }
  }
  return Linear{
      std::make_shared<const SymExpr>(std::move(coefficient)),
      std::make_shared<const SymExpr>(SymNode::from_canonical(std::move(rest), constant_))};
}

std::vector<SymExpr::Term> SymExpr::terms() const {
  std::vector<Term> out;
  for (const Monomial& term : SymNode::terms_of(*this)) {
    Term& added = out.emplace_back(Term{term.coefficient, {}});
    for (const AtomPtr& atom : term.atoms) added.atoms.push_back(atom_expr(atom));
  }
  if (constant_ != 0) out.push_back({constant_, {}});
  return out;
}

std::optional<SymExpr::Call> SymExpr::as_call() const {
  const SymAtom* atom = single_atom(*this);
  if (atom == nullptr || atom->kind == AtomKind::kSymbol) return std::nullopt;
  return Call{call_name(atom->kind), std::make_shared<const SymExpr>(atom->a),
              std::make_shared<const SymExpr>(atom->b)};
}

SymExpr SymExpr::substitute(const std::function<std::optional<SymExpr>(Symbol)>& value) const {
  if (!node_) return *this;
  SymExpr sum(constant_);
  std::vector<Monomial> unchanged;
  for (const Monomial& term : node_->terms) {
    SymExpr replaced(term.coefficient);
    bool changed = false;
    for (const AtomPtr& atom : term.atoms) {
      SymExpr factor;
      if (atom->kind == AtomKind::kSymbol) {
        auto found = value(atom->symbol);
        changed |= found.has_value();
        factor = found ? *std::move(found) : atom_expr(atom);
      } else {
        const SymExpr a = atom->a.substitute(value), b = atom->b.substitute(value);
        const bool same = a == atom->a && b == atom->b;
        changed |= !same;
        factor = same ? atom_expr(atom) : apply_call(atom->kind, a, b);
      }
      replaced *= factor;
    }
    if (changed) {
      sum += replaced;
    } else {
      unchanged.push_back(term);
    }
  }
  return sum + SymNode::from_canonical(std::move(unchanged), 0);
}

std::optional<std::int64_t> SymExpr::evaluate(
    const std::function<std::optional<std::int64_t>(Symbol)>& value) const {
  std::int64_t sum = constant_;
  for (const Monomial& term : SymNode::terms_of(*this)) {
    std::int64_t factor = term.coefficient;
    for (const AtomPtr& atom : term.atoms) {
      const auto number = evaluate_atom(*atom, value);
      if (!number || __builtin_mul_overflow(factor, *number, &factor)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, factor, &sum)) return std::nullopt;
  }
  return sum;
}

std::size_t SymExpr::hash() const {
  const auto constant = static_cast<std::size_t>(constant_);
  return node_ ? mix(node_->hash, constant) : constant;
}

std::size_t size_of(const SymExpr& e) { return SymNode::size_of(e); }

SymExpr product(std::span<const SymExpr> factors) {
  SymExpr out(1);
  for (const SymExpr& factor : factors) out *= factor;
  return out;
}

}  // namespace triptych::ir
