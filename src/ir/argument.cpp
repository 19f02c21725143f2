#include "ir/argument.h"

#include <bit>

namespace triptych::ir {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

bool operator==(const ArgumentList& a, const ArgumentList& b) {
  return a.is_tuple == b.is_tuple && a.items == b.items;
}

bool operator==(const ArgumentDict& a, const ArgumentDict& b) { return a.items == b.items; }

bool operator==(const Slice& a, const Slice& b) { return a.parts == b.parts; }

bool operator==(const Argument& a, const Argument& b) {
  if (a.data.index() != b.data.index()) return false;
  if (const auto* x = a.get_if<double>()) return same_bits(*x, b.get<double>());
  if (const auto* x = a.get_if<std::complex<double>>()) {
    const auto& y = b.get<std::complex<double>>();
    return same_bits(x->real(), y.real()) && same_bits(x->imag(), y.imag());
  }
  return a.data == b.data;
}

std::optional<SymExpr> Argument::as_sym_expr() const {
  if (const auto* number = get_if<std::int64_t>()) return SymExpr(*number);
  if (const auto* expr = get_if<SymExpr>()) return *expr;
  return std::nullopt;
}

}  // namespace triptych::ir
