#include "normalize/tracer/symbolic_shapes.h"

#include <c10/util/Exception.h>

#include "ir/sym_size.h"
#include "normalize/tracer/sym_node.h"

namespace triptych::normalize {

using ir::SymExpr;
using ir::SymGuard;

c10::SymInt SymbolicShapes::symbol(std::string_view name, std::int64_t hint) {
  const ir::Symbol symbol{name};
  if (hints_.emplace(symbol, hint).second) {
    ir::SymbolInfo info;
    info.name = symbol;
    info.hint = hint;
    symbols_.push_back(info);
    ranges_.set(symbol, {info.low, info.high});
  }
  return sym_int(SymExpr::symbol(symbol));
}

c10::SymInt SymbolicShapes::sym_int(const SymExpr& e) {
  if (const auto constant = e.as_constant()) return c10::SymInt(*constant);
  return c10::SymInt(c10::SymNode(make_int_node(shared_from_this(), e)));
}

SymExpr SymbolicShapes::expr(const c10::SymInt& value) {
  if (!value.is_heap_allocated()) return SymExpr(value.as_int_unchecked());
  if (const SymNode* node = as_our_node(*value.toSymNodeImplUnowned())) return node->int_expr();
  const auto constant = value.maybe_as_int();
  TORCH_CHECK(constant, "triptych: a symbolic integer that is not of this trace: ", value);
  return SymExpr(*constant);
}

std::int64_t SymbolicShapes::hint(const SymExpr& e) const {
  const auto value = e.evaluate([&](ir::Symbol symbol) -> std::optional<std::int64_t> {
    const auto found = hints_.find(symbol);
    if (found == hints_.end()) return std::nullopt;
    return found->second;
  });
  TORCH_CHECK(value, "triptych: no value for the symbolic size ", e.str());
  return *value;
}

std::int64_t SymbolicShapes::specialize(const SymExpr& e, std::string_view reason) {
  if (const auto constant = e.as_constant()) return *constant;
  const std::int64_t value = hint(e);
  if (known(SymGuard::Kind::kEq, e, value) == true) return value;
  ++specialized_;
  guard({{SymGuard::Kind::kEq, e, SymExpr(value), std::string(reason)}}, reason);
  return value;
}

SymExpr SymbolicShapes::bounded(SymExpr e) {
  if (closed_ || ir::size_of(e) <= ir::kMaxTracedSize) return e;
  return specialize(e, ir::kTooLarge);
}

// The product has up to the product of their numbers of terms: it is not even made when that is
// out of all proportion.
SymExpr SymbolicShapes::bounded_product(const SymExpr& a, const SymExpr& b) {
  constexpr std::size_t kMaxWork = 64 * ir::kMaxTracedSize;
  if (closed_ || ir::size_of(a) * ir::size_of(b) <= kMaxWork) return bounded(a * b);
  return SymExpr(specialize(a, ir::kTooLarge)) * specialize(b, ir::kTooLarge);
}

void SymbolicShapes::guard(const std::vector<SymGuard>& facts, std::string_view reason) {
  for (const SymGuard& fact : facts) {
    if (known(fact.kind, fact.left, fact.right) == true) continue;
    TORCH_CHECK(!closed_, "triptych: a symbolic size was compared after its trace had ended");
    SymGuard guard = fact;
    guard.reason = std::string(reason);
    std::string text = std::to_string(static_cast<int>(guard.kind)) + " " + guard.left.str() +
                       " ? " + guard.right.str();
    if (seen_.insert(std::move(text)).second) guards_.push_back(std::move(guard));
  }
}

// PyTorch writes "to the end" and "no bound" as the largest integer, beyond any size there can be:
// the difference of the two need not fit an integer.
static std::optional<bool> known_beyond_sizes(SymGuard::Kind kind, const SymExpr& a,
                                              const SymExpr& b) {
  constexpr std::int64_t kBeyondSizes = std::int64_t{1} << 62;
  const auto beyond = [](const SymExpr& e) {
    const auto constant = e.as_constant();
    return !constant || (*constant < kBeyondSizes && *constant > -kBeyondSizes) ? 0
           : *constant > 0                                                      ? 1
                                                                                : -1;
  };
  const int side = a.is_constant() ? -beyond(a) : beyond(b);  // of b, seen from a
  if (side == 0) return std::nullopt;
  if (kind == SymGuard::Kind::kEq) return false;
  return kind == SymGuard::Kind::kNe || side > 0;
}

std::optional<bool> SymbolicShapes::known(SymGuard::Kind kind, const SymExpr& a,
                                          const SymExpr& b) const {
  if (a.is_constant() && b.is_constant()) {
    switch (kind) {
      case SymGuard::Kind::kEq:
        return a.constant() == b.constant();
      case SymGuard::Kind::kNe:
        return a.constant() != b.constant();
      case SymGuard::Kind::kLt:
        return a.constant() < b.constant();
      case SymGuard::Kind::kLe:
        return a.constant() <= b.constant();
    }
  }
  if (const auto fact = known_beyond_sizes(kind, a, b)) return fact;
  const auto negate = [](std::optional<bool> fact) {
    return fact ? std::optional<bool>(!*fact) : std::nullopt;
  };
  switch (kind) {
    case SymGuard::Kind::kEq:
      return ir::known_eq(a, b, ranges_);
    case SymGuard::Kind::kNe:
      return negate(ir::known_eq(a, b, ranges_));
    case SymGuard::Kind::kLt:
      return ir::known_lt(a, b, ranges_);
    case SymGuard::Kind::kLe:
      return ir::known_le(a, b, ranges_);
  }
  return std::nullopt;
}

bool SymbolicShapes::decide(SymGuard::Kind kind, const SymExpr& a, const SymExpr& b,
                            std::vector<SymGuard>& facts) const {
  if (const auto fact = known(kind, a, b)) return *fact;
  const std::int64_t x = hint(a);
  const std::int64_t y = hint(b);
  switch (kind) {
    case SymGuard::Kind::kEq:
    case SymGuard::Kind::kNe: {
      const bool equal = x == y;
      facts.push_back({equal ? SymGuard::Kind::kEq : SymGuard::Kind::kNe, a, b, {}});
      return equal == (kind == SymGuard::Kind::kEq);
    }
    case SymGuard::Kind::kLt:
      if (x < y) {
        facts.push_back({SymGuard::Kind::kLt, a, b, {}});
      } else {
        facts.push_back({SymGuard::Kind::kLe, b, a, {}});
      }
      return x < y;
    case SymGuard::Kind::kLe:
      if (x <= y) {
        facts.push_back({SymGuard::Kind::kLe, a, b, {}});
      } else {
        facts.push_back({SymGuard::Kind::kLt, b, a, {}});
      }
      return x <= y;
  }
  return false;
}

}  // namespace triptych::normalize
