#include "codegen/loops/kernel_equal.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace triptych::loops {
namespace {

// NaNs of arithmetic are one value here, as they are in eager's.
bool same_double(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same(const Instruction& a, const Instruction& b) {
  const auto* x = std::get_if<double>(&a.constant);
  const auto* y = std::get_if<double>(&b.constant);
  const bool same_constant =
      x != nullptr && y != nullptr ? same_double(*x, *y) : a.constant == b.constant;
  return same_constant && a.result == b.result && a.op == b.op && a.dtype == b.dtype &&
         a.args == b.args && a.index == b.index && a.buffer == b.buffer;
}

bool same(const Store& a, const Store& b) {
  return a.buffer == b.buffer && a.index == b.index && a.value == b.value;
}

bool same(const Check& a, const Check& b) { return a.condition == b.condition && a.code == b.code; }

bool same(const Reduction& a, const Reduction& b) {
  return a.op == b.op && a.dtype == b.dtype && a.input == b.input && a.results == b.results;
}

bool same(const Buffer& a, const Buffer& b) {
  return a.kind == b.kind && a.name == b.name && a.dtype == b.dtype && a.extent == b.extent;
}

bool same(const Statement& a, const Statement& b);

template <class Items>
bool same_items(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

bool same(const Loop& a, const Loop& b) {
  return a.variable == b.variable && a.extent == b.extent && a.schedule == b.schedule &&
         a.width == b.width && a.unroll == b.unroll && same_items(a.reductions, b.reductions) &&
         same_items(a.body, b.body);
}

bool same(const Statement& a, const Statement& b) {
  if (a.data.index() != b.data.index()) return false;
  return std::visit(
      [&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b.data)); }, a.data);
}

}  // namespace

bool equal(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.symbols == b.symbols && a.origins == b.origins &&
         same_items(a.buffers, b.buffers) && same_items(a.body, b.body);
}

}  // namespace triptych::loops
