// The inside of a SymExpr, for the sym_*.cpp files only.
//
// An expression is `constant + sum of terms`; the terms are shared and immutable, the constant is
// kept in the SymExpr, so that adding to it allocates nothing. Canonical: terms are sorted by
// compare_atoms_of and have non-zero coefficients and at least one atom; the atoms of a term are
// sorted, a power repeated.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/sym_expr.h"

namespace triptych::ir {

enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax };

struct SymAtom {
  AtomKind kind = AtomKind::kSymbol;
  Symbol symbol;  // kSymbol
  SymExpr a, b;   // the others
  std::size_t hash = 0;
  std::size_t size = 1;  // as size_of
};
using AtomPtr = std::shared_ptr<const SymAtom>;

struct Monomial {
  std::int64_t coefficient = 1;
  std::vector<AtomPtr> atoms;
};

struct SymNode {
  std::vector<Monomial> terms;
  std::size_t hash = 0;
  std::size_t size = 0;

  static std::int64_t constant_of(const SymExpr& e) { return e.constant_; }
  static const std::vector<Monomial>& terms_of(const SymExpr& e);
  static std::size_t size_of(const SymExpr& e);
  static bool has_terms(const SymExpr& e) { return e.node_ != nullptr; }
  static SymExpr with_constant(const SymExpr& e, std::int64_t constant);
  // `terms` in any order, possibly with equal or zero ones.
  static SymExpr make(std::vector<Monomial> terms, std::int64_t constant);
  // `terms` already canonical.
  static SymExpr from_canonical(std::vector<Monomial> terms, std::int64_t constant);
};

int compare_atoms(const SymAtom& a, const SymAtom& b);
int compare_atoms_of(const Monomial& a,
                     const Monomial& b);  // higher degree first, then atom by atom
std::size_t hash_atom(const SymAtom& atom);

SymExpr atom_expr(AtomPtr atom);
SymExpr monomial_expr(const Monomial& monomial);
AtomPtr make_call(AtomKind kind, const SymExpr& a, const SymExpr& b);  // no rules applied
SymExpr apply_call(AtomKind kind, const SymExpr& a,
                   const SymExpr& b);  // with the constructor's rules
// The atom of an expression that is exactly one atom with coefficient 1; else nullptr.
const SymAtom* single_atom(const SymExpr& e);
bool has_calls(const SymExpr& e);

std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
std::int64_t floor_divide(std::int64_t a, std::int64_t b);
std::int64_t floor_modulo(std::int64_t a, std::int64_t b);

// a == quotient * b + remainder; no more terms of `a` can be divided by b's first term. For a
// constant b, 0 <= the remainder's constant < b.
struct Division {
  SymExpr quotient, remainder;
};
Division divide(const SymExpr& a, const SymExpr& b);

// a / b when b's coefficient and atoms are among a's.
bool divide_monomial(const Monomial& a, const Monomial& b, Monomial& quotient);
Monomial monomial_gcd(const Monomial& a, const Monomial& b);

}  // namespace triptych::ir
