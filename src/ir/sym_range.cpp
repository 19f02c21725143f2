// Ranges of symbols, and the questions that they answer.
#include <algorithm>

#include "ir/sym_expr.h"
#include "ir/sym_proof.h"

namespace triptych::ir {

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

SymRange SymExpr::range(const SymRanges& ranges) const { return SymProof(ranges).range(*this); }

std::optional<bool> known_le(const SymExpr& a, const SymExpr& b, const SymRanges& ranges) {
  return SymProof(ranges).le(a, b);
}

std::optional<bool> known_lt(const SymExpr& a, const SymExpr& b, const SymRanges& ranges) {
  return known_le(a + 1, b, ranges);
}

std::optional<bool> known_eq(const SymExpr& a, const SymExpr& b, const SymRanges& ranges) {
  SymExpr difference = b - a;
  if (difference.is_constant()) return difference.constant() == 0;
  difference = simplify(difference, ranges);
  if (difference.is_constant()) return difference.constant() == 0;
  SymProof proof(ranges);
  const bool at_least_zero = proof.nonnegative(difference);
  if (at_least_zero && proof.nonnegative(-difference)) return true;
  if (at_least_zero && proof.nonnegative(difference - 1)) return false;
  if (proof.nonnegative(-difference - 1)) return false;
  return std::nullopt;
}

}  // namespace triptych::ir
