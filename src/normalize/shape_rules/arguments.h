// Reading boxed arguments of an op: what a rule needs and no more.
#pragma once

#include <optional>
#include <string_view>

#include "normalize/shape_rules/shape_rule.h"

namespace triptych::normalize {

using Sizes = c10::SymDimVector;
using SizesRef = c10::SymIntArrayRef;
using Dims = c10::SmallVector<int64_t, 8>;

inline c10::SymInt as_symint(const c10::IValue& v) {
  return v.isInt() ? c10::SymInt(v.toInt()) : v.toSymInt();
}

// int[] and SymInt[] arguments; None is the empty list.
Sizes as_sizes(const c10::IValue& v);
Dims as_ints(const c10::IValue& v);
bool as_bool(const c10::IValue& v);

// A Tensor[] or Tensor?[] argument; missing entries are undefined tensors.
c10::SmallVector<at::Tensor, 8> as_tensors(const c10::IValue& v);

inline bool is_number(const c10::IValue& v) {
  return v.isInt() || v.isDouble() || v.isBool() || v.isComplexDouble() || v.isSymInt() ||
         v.isSymFloat() || v.isSymBool();
}

// The argument of this name, or None where the schema has none.
const c10::IValue& named(const RuleContext& ctx, std::string_view name);
inline at::ScalarType dtype_or(const c10::IValue& v, at::ScalarType otherwise) {
  return v.isNone() ? otherwise : v.toScalarType();
}
inline c10::Device device_or(const c10::IValue& v, c10::Device otherwise) {
  return v.isNone() ? otherwise : v.toDevice();
}

at::ScalarType default_dtype();

// The name of the op for messages: "aten::add" gives "add".
std::string_view short_name(const RuleContext& ctx);

}  // namespace triptych::normalize
