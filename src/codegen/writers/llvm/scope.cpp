#include "codegen/writers/llvm/scope.h"

#include <algorithm>
#include <cstdlib>

#include "support/check.h"

namespace triptych::writers::llvm {

const Operand& Scope::get(ScalarId id, int u) const {
  auto found = scalars.find(id);
  TRIPTYCH_CHECK(found != scalars.end(),
                 cat("scalar v", num(id.value), " is used before its definition"));
  return found->second.size() == 1 ? found->second.front()
                                   : found->second.at(static_cast<std::size_t>(u));
}

Operand Scope::broadcast(const Operand& value) {
  if (!vector.vector() || value.lanes == vector.lanes) return value;
  Operand wide = value;
  wide.lanes = vector.lanes;
  if (!value.text.starts_with("%")) {
    wide.text = splat_literal(value.dtype, value.text, vector.lanes);
    return wide;
  }
  std::string type = register_type(value.dtype, vector.lanes);
  // By width, as sibling loops may have others; of what is found only the text is shared, as one
  // name may stand for values of several dtypes (u8 and i8).
  std::string key = cat("broadcast to ", type, " ", value.text);
  if (const Operand* known = code.find(key)) {
    wide.text = known->text;
    return wide;
  }
  std::string first =
      code.define(value.level, cat("insertelement ", type, " poison, ", value.typed(), ", i64 0"));
  wide.text =
      code.define(value.level, cat("shufflevector ", type, " ", first, ", ", type, " poison, ",
                                   vector_type("i32", vector.lanes), " zeroinitializer"));
  code.remember(key, wide);
  return wide;
}

ScalarId Scope::scalar_symbol(Symbol symbol) const {
  const std::string& name = symbol.str();
  bool numbered =
      name.size() > 1 && name[0] == 'v' &&
      std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!numbered || symbols.contains(symbol)) return ScalarId{};
  return ScalarId{static_cast<std::uint32_t>(std::strtoul(name.c_str() + 1, nullptr, 10))};
}

bool Scope::varies(const SymExpr& index) const {
  if (!vector.vector()) return false;
  for (Symbol symbol : index.symbols()) {
    if (symbol == vector.variable) return true;
    if (ScalarId id = scalar_symbol(symbol); id.valid() && get(id, 0).lanes > 1) return true;
  }
  return false;
}

bool Scope::indirect(const SymExpr& index) const {
  for (Symbol symbol : index.symbols()) {
    if (scalar_symbol(symbol).valid()) return true;
  }
  return false;
}

}  // namespace triptych::writers::llvm
