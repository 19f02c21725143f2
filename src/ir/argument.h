// What a node is applied to: values, literals, symbolic integers, and nested lists and dicts of
// these.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/device.h"
#include "ir/dtype.h"
#include "ir/sym_expr.h"
#include "support/index.h"

namespace triptych::ir {

using ValueId = Index<struct ValueTag>;
using NodeId = Index<struct NodeTag>;

enum class Layout : std::uint8_t { kStrided, kSparse, kSparseCsr, kMkldnn, kJagged, kOther };
enum class MemoryFormat : std::uint8_t { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };

struct None {
  friend bool operator==(None, None) = default;
};
struct Ellipsis {
  friend bool operator==(Ellipsis, Ellipsis) = default;
};
struct Generator {
  std::string name;
  friend bool operator==(const Generator&, const Generator&) = default;
};

struct Argument;
struct ArgumentList {
  std::vector<Argument> items;
  bool is_tuple = false;
  friend bool operator==(const ArgumentList&, const ArgumentList&);
};
struct ArgumentDict {
  std::vector<std::pair<std::string, Argument>> items;
  friend bool operator==(const ArgumentDict&, const ArgumentDict&);
};
struct Slice {
  std::vector<Argument> parts;  // start, stop, step
  friend bool operator==(const Slice&, const Slice&);
};

struct Argument {
  using Variant = std::variant<None, ValueId, bool, std::int64_t, double, std::complex<double>,
                               std::string, DType, Device, Layout, MemoryFormat, SymExpr,
                               ArgumentList, ArgumentDict, Slice, Ellipsis, Generator>;
  Variant data;

  Argument() = default;
  template <class T>
    requires std::is_constructible_v<Variant, T> && (!std::is_same_v<std::decay_t<T>, Argument>)
  Argument(T&& value) : data(std::forward<T>(value)) {}  // NOLINT: implicit

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  template <class T>
  const T& get() const {
    return std::get<T>(data);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return is<None>(); }
  // A size or index however it is stored (int or SymExpr).
  std::optional<SymExpr> as_sym_expr() const;

  // Floats compare by bits, so that NaN equals itself and -0.0 differs from 0.0.
  friend bool operator==(const Argument& a, const Argument& b);
};

// Calls visit(ValueId) for every value in the argument, in order.
template <class F>
void for_each_value(const Argument& argument, const F& visit);
// Calls visit(const SymExpr&) for every symbolic integer in the argument.
template <class F>
void for_each_sym_expr(const Argument& argument, const F& visit);
// Replaces every value by map(ValueId).
template <class F>
Argument map_values(const Argument& argument, const F& map);

}  // namespace triptych::ir

#include "ir/argument_visit.h"
