#include "ir/sym_interval.h"

#include <algorithm>

#include "ir/sym_node.h"

namespace triptych::ir {
namespace {

constexpr std::int64_t kLowest = SymRange::kNegativeInfinity;
constexpr std::int64_t kHighest = SymRange::kPositiveInfinity;

bool is_infinite(std::int64_t x) { return x == kLowest || x == kHighest; }

std::int64_t clamp(__int128 x) {
  if (x <= kLowest) return kLowest;
  if (x >= kHighest) return kHighest;
  return static_cast<std::int64_t>(x);
}

// Infinity times zero is zero: an end of an interval is approached, not reached.
std::int64_t multiply_ends(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? kHighest : kLowest;
  return clamp(static_cast<__int128>(a) * b);
}

std::int64_t floordiv_ends(std::int64_t a, std::int64_t b) {  // b > 0
  if (is_infinite(a)) return a;
  if (b == kHighest) return a < 0 ? -1 : 0;
  return floor_divide(a, b);
}

}  // namespace

SymRange interval_add(SymRange a, SymRange b) {
  SymRange out;
  if (a.low != kLowest && b.low != kLowest) out.low = clamp(static_cast<__int128>(a.low) + b.low);
  if (a.high != kHighest && b.high != kHighest) {
    out.high = clamp(static_cast<__int128>(a.high) + b.high);
  }
  return out;
}

SymRange interval_multiply(SymRange a, SymRange b) {
  const auto [low, high] =
      std::minmax({multiply_ends(a.low, b.low), multiply_ends(a.low, b.high),
                   multiply_ends(a.high, b.low), multiply_ends(a.high, b.high)});
  return {low, high};
}

SymRange interval_floordiv(SymRange a, SymRange b) {
  if (b.low <= 0) return {};
  return {std::min(floordiv_ends(a.low, b.low), floordiv_ends(a.low, b.high)),
          std::max(floordiv_ends(a.high, b.low), floordiv_ends(a.high, b.high))};
}

SymRange interval_mod(SymRange a, SymRange b) {
  if (b.low > 0) {
    if (a.low >= 0 && a.high < b.low) return a;
    const std::int64_t below = b.high == kHighest ? kHighest : b.high - 1;
    return {0, a.low >= 0 ? std::min(a.high, below) : below};
  }
  if (b.high < 0) return {b.low == kLowest ? kLowest : b.low + 1, 0};
  return {};
}

SymRange interval_min(SymRange a, SymRange b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

SymRange interval_max(SymRange a, SymRange b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace triptych::ir
