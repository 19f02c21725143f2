// torch's SymInt, SymFloat and SymBool over our expressions. An integer is an ir::SymExpr. A
// boolean is its value at the hints with the facts that imply it. A float is its value at the hints
// with the integers that it was made from: using one specialises these integers.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include <c10/core/SymNodeImpl.h>

#include "normalize/tracer/symbolic_shapes.h"

namespace triptych::normalize {

struct SymFloatValue {
  double value = 0;
  std::vector<ir::SymExpr> depends_on;
};
struct SymBoolValue {
  bool value = false;
  std::vector<ir::SymGuard> facts;  // that make it so; none: it is always so
};

class SymNode final : public c10::SymNodeImpl {
 public:
  using Value = std::variant<ir::SymExpr, SymFloatValue, SymBoolValue>;
  SymNode(std::shared_ptr<SymbolicShapes> shapes, Value value)
      : shapes_(std::move(shapes)), value_(std::move(value)) {}

  const ir::SymExpr& int_expr() const;
  SymFloatValue float_value() const;  // of an integer too
  const SymBoolValue& bool_value() const;

  bool is_int() override { return std::holds_alternative<ir::SymExpr>(value_); }
  bool is_float() override { return std::holds_alternative<SymFloatValue>(value_); }
  bool is_bool() override { return std::holds_alternative<SymBoolValue>(value_); }

  c10::SymNode add(const c10::SymNode& other) override;
  c10::SymNode sub(const c10::SymNode& other) override;
  c10::SymNode mul(const c10::SymNode& other) override;
  c10::SymNode truediv(const c10::SymNode& other) override;
  c10::SymNode float_truediv(const c10::SymNode& other) override { return truediv(other); }
  c10::SymNode int_truediv(const c10::SymNode& other) override { return truediv(other); }
  c10::SymNode pow(const c10::SymNode& other) override;
  c10::SymNode float_pow(const c10::SymNode& other) override { return pow(other); }
  c10::SymNode pow_by_natural(const c10::SymNode& other) override { return pow(other); }
  c10::SymNode floordiv(const c10::SymNode& other) override;
  c10::SymNode int_floordiv(const c10::SymNode& other) override { return floordiv(other); }
  c10::SymNode mod(const c10::SymNode& other) override;
  c10::SymNode eq(const c10::SymNode& other) override;
  c10::SymNode ne(const c10::SymNode& other) override;
  c10::SymNode gt(const c10::SymNode& other) override;
  c10::SymNode lt(const c10::SymNode& other) override;
  c10::SymNode le(const c10::SymNode& other) override;
  c10::SymNode ge(const c10::SymNode& other) override;
  c10::SymNode ceil() override;
  c10::SymNode floor() override;
  c10::SymNode neg() override;
  c10::SymNode sym_min(const c10::SymNode& other) override;
  c10::SymNode sym_max(const c10::SymNode& other) override;
  c10::SymNode sym_or(const c10::SymNode& other) override;
  c10::SymNode sym_and(const c10::SymNode& other) override;
  c10::SymNode sym_not() override;
  c10::SymNode sym_ite(const c10::SymNode& then_value, const c10::SymNode& else_value) override;
  c10::SymNode clone() override;
  c10::SymNode sym_float() override;
  c10::SymNode wrap_int(std::int64_t number) override;
  c10::SymNode wrap_float(double number) override;
  c10::SymNode wrap_bool(bool truth) override;
  // Operations that torch's Python magic methods ask for by name (bound in the Python bridge).
  c10::SymNode abs();
  c10::SymNode trunc();

  using Nodes = c10::ArrayRef<c10::SymNode>;
  c10::SymNode is_contiguous(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_contiguous_2d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_contiguous_3d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_strides_2d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_strides_3d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_non_overlapping_and_dense(Nodes sizes, Nodes strides) override;

  std::int64_t guard_int(const char* file, std::int64_t line) override;
  bool guard_bool(const char* file, std::int64_t line) override;
  double guard_float(const char* file, std::int64_t line) override;
  bool guard_size_oblivious(const char* file, std::int64_t line) override;
  bool guard_or_false(const char* file, std::int64_t line) override;
  bool guard_or_true(const char* file, std::int64_t line) override;
  bool statically_known_true(const char* file, std::int64_t line) override;
  bool expect_true(const char* file, std::int64_t line) override;
  std::int64_t int_() override { return guard_int("int()", 0); }
  bool bool_() override { return guard_bool("bool()", 0); }
  bool has_hint() override { return true; }
  std::string str() override;
  std::string _graph_repr() override;
  std::optional<std::int64_t> constant_int() override;
  std::optional<std::int64_t> maybe_as_int() override { return constant_int(); }
  std::optional<bool> constant_bool() override;
  bool is_constant() override { return false; }
  bool is_symbolic() override { return true; }

 private:
  c10::SymNode make(Value value) const;
  c10::SymNode make_int(ir::SymExpr e) const;  // may have become too large
  c10::SymNode compare(ir::SymGuard::Kind kind, const c10::SymNode& other, bool swapped) const;
  c10::SymNode ordered_contiguous(Nodes sizes, Nodes strides, const std::vector<int>& order) const;
  c10::SymNode channels_last_strides(Nodes sizes, Nodes strides,
                                     const std::vector<int>& order) const;

  std::shared_ptr<SymbolicShapes> shapes_;
  Value value_;
};

c10::intrusive_ptr<SymNode> make_int_node(std::shared_ptr<SymbolicShapes> shapes, ir::SymExpr e);
const SymNode* as_our_node(const c10::SymNodeImpl& node);  // nullptr: somebody else's

}  // namespace triptych::normalize
