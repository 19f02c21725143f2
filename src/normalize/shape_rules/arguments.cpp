#include "normalize/shape_rules/arguments.h"

#include <c10/core/DefaultDtype.h>

namespace triptych::normalize {

Sizes as_sizes(const c10::IValue& v) {
  Sizes out;
  if (v.isNone()) return out;
  if (v.isIntList()) {
    const c10::List<int64_t> list = v.toIntList();
    out.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) out.emplace_back(list.get(i));
    return out;
  }
  if (v.isInt() || v.isSymInt()) {
    out.push_back(as_symint(v));
    return out;
  }
  const auto elements = v.toListRef();
  out.reserve(elements.size());
  for (const c10::IValue& element : elements) out.push_back(as_symint(element));
  return out;
}

Dims as_ints(const c10::IValue& v) {
  Dims out;
  for (const c10::SymInt& size : as_sizes(v)) out.push_back(size.guard_int(__FILE__, __LINE__));
  return out;
}

bool as_bool(const c10::IValue& v) {
  if (v.isNone()) return false;
  return v.isBool() ? v.toBool() : v.toSymBool().guard_bool(__FILE__, __LINE__);
}

c10::SmallVector<at::Tensor, 8> as_tensors(const c10::IValue& v) {
  c10::SmallVector<at::Tensor, 8> out;
  for (const c10::IValue& element : v.toListRef()) {
    out.push_back(element.isNone() ? at::Tensor() : element.toTensor());
  }
  return out;
}

const c10::IValue& named(const RuleContext& ctx, std::string_view name) {
  static const c10::IValue none;
  const auto& arguments = ctx.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return ctx.arg(i);
  }
  return none;
}

at::ScalarType default_dtype() { return c10::typeMetaToScalarType(c10::get_default_dtype()); }

std::string_view short_name(const RuleContext& ctx) {
  std::string_view name = ctx.schema().name();
  const auto colons = name.rfind(':');
  return colons == std::string_view::npos ? name : name.substr(colons + 1);
}

}  // namespace triptych::normalize
