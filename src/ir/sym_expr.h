// Symbolic integers: polynomials with int64 coefficients over atoms. An atom is a symbol, or
// floordiv, mod, min or max of two expressions. Canonical: equal expressions are structurally
// equal. Division is Python's (floor). A constant costs no allocation.
//
// Symbols name sizes (s0), loop variables (i0), or loaded values used as indices (v7); an
// expression does not care which. Every fact about a symbol (its range) comes from a SymRanges
// argument.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/interned_string.h"
#include "support/result.h"

namespace triptych::ir {

using Symbol = InternedString;
struct SymNode;  // defined in sym_expr.cpp

struct SymRange {  // inclusive; kNegativeInfinity / kPositiveInfinity when unknown
  static constexpr std::int64_t kNegativeInfinity = INT64_MIN;
  static constexpr std::int64_t kPositiveInfinity = INT64_MAX;
  std::int64_t low = kNegativeInfinity;
  std::int64_t high = kPositiveInfinity;
};

class SymExpr;
class SymRanges {  // symbol -> range; the upper end may itself be an expression (loop extents)
 public:
  void set(Symbol symbol, SymRange range);
  // 0 <= symbol < extent. Set the ranges of the extent's own symbols first.
  void set_extent(Symbol symbol, const SymExpr& extent);
  SymRange get(Symbol symbol) const;           // unbounded when unknown
  const SymExpr* extent(Symbol symbol) const;  // nullptr when not a loop variable
 private:
  struct Entry {
    Symbol symbol;
    SymRange range;
    std::shared_ptr<const SymExpr> extent;
  };
  const Entry* find(Symbol symbol) const;
  Entry& entry(Symbol symbol);
  std::vector<Entry> entries_;  // few: searched by identity
};

class SymExpr {
 public:
  SymExpr() = default;                               // 0
  SymExpr(std::int64_t value) : constant_(value) {}  // NOLINT: implicit, sizes are written as ints
  SymExpr(int value) : constant_(value) {}           // NOLINT: implicit
  static SymExpr symbol(Symbol name);
  static SymExpr symbol(std::string_view name);

  bool is_constant() const { return node_ == nullptr; }
  std::int64_t constant() const;  // checks is_constant()
  std::optional<std::int64_t> as_constant() const;
  bool is_symbol() const;  // exactly one symbol, coefficient 1
  Symbol as_symbol() const;

  friend SymExpr operator+(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator-(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator*(const SymExpr& a, const SymExpr& b);
  SymExpr operator-() const;
  SymExpr& operator+=(const SymExpr& b) { return *this = *this + b; }
  SymExpr& operator*=(const SymExpr& b) { return *this = *this * b; }
  friend bool operator==(const SymExpr& a, const SymExpr& b);
  static int compare(const SymExpr& a, const SymExpr& b);  // a total, run-independent order

  // Free symbols in text order.
  std::vector<Symbol> symbols() const;
  bool depends_on(Symbol symbol) const;
  // e == coefficient * symbol + rest with neither part depending on symbol; nullopt when the symbol
  // occurs non-linearly or inside floordiv, mod, min, max.
  struct Linear {
    std::shared_ptr<const SymExpr> coefficient, rest;
  };
  std::optional<Linear> linear_in(Symbol symbol) const;
  // The terms of the polynomial; a monomial is a product of atoms, each itself a SymExpr.
  struct Term {
    std::int64_t coefficient;
    std::vector<SymExpr> atoms;
  };
  std::vector<Term> terms() const;
  // For an expression that is one floordiv/mod/min/max atom: its operator ("floordiv", ...) and
  // operands.
  struct Call {
    std::string_view op;
    std::shared_ptr<const SymExpr> a, b;
  };
  std::optional<Call> as_call() const;

  SymExpr substitute(const std::function<std::optional<SymExpr>(Symbol)>& value) const;
  // nullopt when a symbol is unbound or a divisor is zero.
  std::optional<std::int64_t> evaluate(
      const std::function<std::optional<std::int64_t>(Symbol)>& value) const;
  SymRange range(const SymRanges& ranges) const;

  std::string str() const;  // "4*s0 + floordiv(s1, 2) - 1"; parses back
  std::size_t hash() const;

 private:
  friend struct SymNode;
  explicit SymExpr(std::shared_ptr<const SymNode> node) : node_(std::move(node)) {}
  std::int64_t constant_ = 0;
  std::shared_ptr<const SymNode> node_;  // null: the constant
};

SymExpr floordiv(const SymExpr& a, const SymExpr& b);  // b constant zero: checked error
SymExpr mod(const SymExpr& a, const SymExpr& b);       // sign follows b, as in Python
SymExpr min(const SymExpr& a, const SymExpr& b);
SymExpr max(const SymExpr& a, const SymExpr& b);
SymExpr ceildiv(const SymExpr& a, const SymExpr& b);  // -floordiv(-a, b)
SymExpr product(std::span<const SymExpr> factors);    // 1 when empty

// Rewrites floordiv and mod that the ranges decide: (i*C + j)//C -> i and (i*C + j)%C -> j for
// 0 <= j < C, (x//a)//b -> x//(a*b), (x//a)*a + x%a -> x, min/max by range. Directional,
// terminating.
SymExpr simplify(const SymExpr& e, const SymRanges& ranges);
// Three-valued comparisons under the ranges; nullopt when neither side is provable.
std::optional<bool> known_le(const SymExpr& a, const SymExpr& b, const SymRanges& ranges);
std::optional<bool> known_lt(const SymExpr& a, const SymExpr& b, const SymRanges& ranges);
std::optional<bool> known_eq(const SymExpr& a, const SymExpr& b, const SymRanges& ranges);

Result<SymExpr> parse_sym_expr(std::string_view text);

}  // namespace triptych::ir
