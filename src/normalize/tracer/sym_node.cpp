#include "normalize/tracer/sym_node.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include <c10/util/Exception.h>

namespace triptych::normalize {

using ir::SymExpr;
using ir::SymGuard;
using Kind = ir::SymGuard::Kind;

namespace {

const SymNode& ours(const c10::SymNode& node) {
  const SymNode* found = as_our_node(*node);
  TORCH_CHECK(found, "triptych: a symbolic number that is not of this trace");
  return *found;
}

// What a comparison of floats, or a float made from integers, depends on: that these integers stay
// as they are.
std::vector<SymGuard> pinned(const SymbolicShapes& shapes, const std::vector<SymExpr>& integers) {
  std::vector<SymGuard> facts;
  for (const SymExpr& e : integers) facts.push_back({Kind::kEq, e, SymExpr(shapes.hint(e)), {}});
  return facts;
}

std::vector<SymExpr> joined(std::vector<SymExpr> a, const std::vector<SymExpr>& b) {
  for (const SymExpr& e : b) {
    if (std::find(a.begin(), a.end(), e) == a.end()) a.push_back(e);
  }
  return a;
}

SymFloatValue combine(const SymNode& a, const SymNode& b,
                      const std::function<double(double, double)>& operation) {
  const SymFloatValue x = a.float_value();
  const SymFloatValue y = b.float_value();
  return {operation(x.value, y.value), joined(x.depends_on, y.depends_on)};
}

std::string reason_text(const char* file, std::int64_t line) {
  std::string_view name = file == nullptr ? "" : file;
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  return line == 0 ? std::string(name) : std::string(name) + ":" + std::to_string(line);
}

}  // namespace

c10::intrusive_ptr<SymNode> make_int_node(std::shared_ptr<SymbolicShapes> shapes, SymExpr e) {
  return c10::make_intrusive<SymNode>(std::move(shapes), SymNode::Value(std::move(e)));
}

const SymNode* as_our_node(const c10::SymNodeImpl& node) {
  return dynamic_cast<const SymNode*>(&node);
}

const SymExpr& SymNode::int_expr() const {
  TORCH_CHECK(std::holds_alternative<SymExpr>(value_), "triptych: expected a symbolic integer");
  return std::get<SymExpr>(value_);
}

SymFloatValue SymNode::float_value() const {
  if (const auto* value = std::get_if<SymFloatValue>(&value_)) return *value;
  const SymExpr& e = int_expr();
  SymFloatValue value{static_cast<double>(shapes_->hint(e)), {}};
  if (!e.is_constant()) value.depends_on.push_back(e);
  return value;
}

const SymBoolValue& SymNode::bool_value() const {
  TORCH_CHECK(std::holds_alternative<SymBoolValue>(value_), "triptych: expected a symbolic bool");
  return std::get<SymBoolValue>(value_);
}

c10::SymNode SymNode::make(Value value) const {
  return c10::make_intrusive<SymNode>(shapes_, std::move(value));
}

c10::SymNode SymNode::make_int(SymExpr e) const { return make(shapes_->bounded(std::move(e))); }

c10::SymNode SymNode::add(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (is_int() && other->is_int()) return make_int(int_expr() + b.int_expr());
  return make(combine(*this, b, std::plus<double>()));
}

c10::SymNode SymNode::sub(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (is_int() && other->is_int()) return make_int(int_expr() - b.int_expr());
  return make(combine(*this, b, std::minus<double>()));
}

c10::SymNode SymNode::mul(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (is_int() && other->is_int()) return make(shapes_->bounded_product(int_expr(), b.int_expr()));
  return make(combine(*this, b, std::multiplies<double>()));
}

c10::SymNode SymNode::truediv(const c10::SymNode& other) {
  return make(combine(*this, ours(other), std::divides<double>()));
}

c10::SymNode SymNode::pow(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (is_int() && other->is_int() && b.int_expr().is_constant()) {
    const std::int64_t exponent = b.int_expr().constant();
    if (exponent >= 0 && exponent <= 8) {
      SymExpr power = 1;
      for (std::int64_t i = 0; i < exponent; ++i)
        power = shapes_->bounded_product(power, int_expr());
      return make(std::move(power));
    }
  }
  return make(combine(*this, b, [](double x, double y) { return std::pow(x, y); }));
}

c10::SymNode SymNode::floordiv(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (is_int() && other->is_int()) {
    TORCH_CHECK(shapes_->hint(b.int_expr()) != 0, "integer division or modulo by zero");
    std::vector<SymGuard> facts;
    shapes_->decide(Kind::kNe, b.int_expr(), 0, facts);
    shapes_->guard(facts, "divisor");
    return make_int(ir::simplify(ir::floordiv(int_expr(), b.int_expr()), shapes_->ranges()));
  }
  return make(combine(*this, b, [](double x, double y) { return std::floor(x / y); }));
}

c10::SymNode SymNode::mod(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (is_int() && other->is_int()) {
    TORCH_CHECK(shapes_->hint(b.int_expr()) != 0, "integer division or modulo by zero");
    std::vector<SymGuard> facts;
    shapes_->decide(Kind::kNe, b.int_expr(), 0, facts);
    shapes_->guard(facts, "divisor");
    return make_int(ir::simplify(ir::mod(int_expr(), b.int_expr()), shapes_->ranges()));
  }
  return make(combine(*this, b, [](double x, double y) { return x - std::floor(x / y) * y; }));
}

c10::SymNode SymNode::compare(Kind kind, const c10::SymNode& other, bool swapped) const {
  const SymNode& b = ours(other);
  SymBoolValue result;
  if (std::holds_alternative<SymExpr>(value_) && std::holds_alternative<SymExpr>(b.value_)) {
    const SymExpr& x = swapped ? b.int_expr() : int_expr();
    const SymExpr& y = swapped ? int_expr() : b.int_expr();
    result.value = shapes_->decide(kind, x, y, result.facts);
    return make(std::move(result));
  }
  if (const auto* x = std::get_if<SymBoolValue>(&value_)) {
    const SymBoolValue& y = b.bool_value();
    result.value = (x->value == y.value) == (kind == Kind::kEq);
    result.facts = x->facts;
    result.facts.insert(result.facts.end(), y.facts.begin(), y.facts.end());
    return make(std::move(result));
  }
  const SymFloatValue left = swapped ? b.float_value() : float_value();
  const SymFloatValue right = swapped ? float_value() : b.float_value();
  const double x = left.value;
  const double y = right.value;
  result.value = kind == Kind::kEq   ? x == y
                 : kind == Kind::kNe ? x != y
                 : kind == Kind::kLt ? x < y
                                     : x <= y;
  result.facts = pinned(*shapes_, joined(left.depends_on, right.depends_on));
  return make(std::move(result));
}

c10::SymNode SymNode::eq(const c10::SymNode& other) { return compare(Kind::kEq, other, false); }
c10::SymNode SymNode::ne(const c10::SymNode& other) { return compare(Kind::kNe, other, false); }
c10::SymNode SymNode::lt(const c10::SymNode& other) { return compare(Kind::kLt, other, false); }
c10::SymNode SymNode::le(const c10::SymNode& other) { return compare(Kind::kLe, other, false); }
c10::SymNode SymNode::gt(const c10::SymNode& other) { return compare(Kind::kLt, other, true); }
c10::SymNode SymNode::ge(const c10::SymNode& other) { return compare(Kind::kLe, other, true); }

c10::SymNode SymNode::ceil() {
  if (is_int()) return clone();
  return wrap_int(static_cast<std::int64_t>(std::ceil(guard_float("ceil", 0))));
}

c10::SymNode SymNode::floor() {
  if (is_int()) return clone();
  return wrap_int(static_cast<std::int64_t>(std::floor(guard_float("floor", 0))));
}

c10::SymNode SymNode::trunc() {
  if (is_int()) return clone();
  return wrap_int(static_cast<std::int64_t>(std::trunc(guard_float("trunc", 0))));
}

c10::SymNode SymNode::neg() {
  if (is_int()) return make(-int_expr());
  SymFloatValue value = float_value();
  value.value = -value.value;
  return make(std::move(value));
}

c10::SymNode SymNode::abs() {
  if (!is_int()) {
    SymFloatValue value = float_value();
    value.value = std::fabs(value.value);
    return make(std::move(value));
  }
  std::vector<SymGuard> facts;
  const bool positive = shapes_->decide(Kind::kLe, 0, int_expr(), facts);
  shapes_->guard(facts, "abs");
  return positive ? clone() : neg();
}

c10::SymNode SymNode::sym_min(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (!is_int() || !other->is_int())
    return make(combine(*this, b, [](double x, double y) { return std::min(x, y); }));
  return make_int(ir::simplify(ir::min(int_expr(), b.int_expr()), shapes_->ranges()));
}

c10::SymNode SymNode::sym_max(const c10::SymNode& other) {
  const SymNode& b = ours(other);
  if (!is_int() || !other->is_int())
    return make(combine(*this, b, [](double x, double y) { return std::max(x, y); }));
  return make_int(ir::simplify(ir::max(int_expr(), b.int_expr()), shapes_->ranges()));
}

// A false conjunction (a true disjunction) is implied by one of its parts alone.
static SymBoolValue connect(const SymBoolValue& a, const SymBoolValue& b, bool decisive) {
  if (a.value == decisive && (b.value != decisive || a.facts.size() <= b.facts.size())) return a;
  if (b.value == decisive) return b;
  SymBoolValue both{!decisive, a.facts};
  both.facts.insert(both.facts.end(), b.facts.begin(), b.facts.end());
  return both;
}

c10::SymNode SymNode::sym_or(const c10::SymNode& other) {
  return make(connect(bool_value(), ours(other).bool_value(), /*decisive=*/true));
}

c10::SymNode SymNode::sym_and(const c10::SymNode& other) {
  return make(connect(bool_value(), ours(other).bool_value(), /*decisive=*/false));
}

c10::SymNode SymNode::sym_not() {
  SymBoolValue value = bool_value();
  value.value = !value.value;
  return make(std::move(value));
}

c10::SymNode SymNode::sym_ite(const c10::SymNode& then_value, const c10::SymNode& else_value) {
  return guard_bool("sym_ite", 0) ? then_value : else_value;
}

c10::SymNode SymNode::clone() { return make(value_); }
c10::SymNode SymNode::sym_float() { return make(float_value()); }
c10::SymNode SymNode::wrap_int(std::int64_t number) { return make(SymExpr(number)); }
c10::SymNode SymNode::wrap_float(double number) { return make(SymFloatValue{number, {}}); }
c10::SymNode SymNode::wrap_bool(bool truth) { return make(SymBoolValue{truth, {}}); }

std::int64_t SymNode::guard_int(const char* file, std::int64_t line) {
  return shapes_->specialize(int_expr(), reason_text(file, line));
}

bool SymNode::guard_bool(const char* file, std::int64_t line) {
  const SymBoolValue& value = bool_value();
  if (!value.facts.empty()) shapes_->guard(value.facts, reason_text(file, line));
  return value.value;
}

double SymNode::guard_float(const char* file, std::int64_t line) {
  const SymFloatValue value = float_value();
  shapes_->guard(pinned(*shapes_, value.depends_on), reason_text(file, line));
  return value.value;
}

bool SymNode::guard_size_oblivious(const char* file, std::int64_t line) {
  return guard_bool(file, line);
}
bool SymNode::guard_or_false(const char* file, std::int64_t line) { return guard_bool(file, line); }
bool SymNode::guard_or_true(const char* file, std::int64_t line) { return guard_bool(file, line); }
bool SymNode::expect_true(const char* file, std::int64_t line) { return guard_bool(file, line); }
bool SymNode::statically_known_true(const char*, std::int64_t) {
  return bool_value().value && bool_value().facts.empty();
}

std::string SymNode::str() {
  if (is_int()) return int_expr().str();
  if (is_bool()) return bool_value().value ? "True" : "False";
  return std::to_string(float_value().value);
}

// As Python prints a float: the shortest digits, an exponent from 1e16 on and below 1e-4.
static std::string python_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char buffer[64];
  const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, form).ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

// What repr() and str() say, also of a container that holds it: the number, which the text depends
// on from then on. Nobody but a person that debugs asks after the trace.
std::string SymNode::_graph_repr() {
  if (shapes_->closed()) return str();
  if (is_int()) return std::to_string(guard_int("repr()", 0));
  if (is_bool()) return guard_bool("repr()", 0) ? "True" : "False";
  return python_text(guard_float("repr()", 0));
}

std::optional<std::int64_t> SymNode::constant_int() {
  if (!is_int()) return std::nullopt;
  return int_expr().as_constant();
}

std::optional<bool> SymNode::constant_bool() {
  if (!is_bool() || !bool_value().facts.empty()) return std::nullopt;
  return bool_value().value;
}

}  // namespace triptych::normalize
