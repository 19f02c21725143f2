#include "codegen/plan/storage_extent.h"

namespace triptych::plan {

using ir::SymExpr;

SymExpr extent_in_elements(const ir::TensorType& type) {
  SymExpr last = 0;
  for (std::size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d] == SymExpr(0)) return 0;
    last += (type.sizes[d] - SymExpr(1)) * type.strides[d];
  }
  return last + SymExpr(1);
}

SymExpr extent_in_bytes(const ir::TensorType& type) {
  return extent_in_elements(type) * SymExpr(ir::dtype_bytes(type.dtype));
}

std::int64_t at_hints(const SymExpr& expr, const std::vector<ir::SymbolInfo>& symbols) {
  if (expr.is_constant()) return expr.constant();
  const auto hint = [&](ir::Symbol name) -> std::optional<std::int64_t> {
    for (const ir::SymbolInfo& symbol : symbols) {
      if (symbol.name == name) return symbol.hint;
    }
    return 2;
  };
  return expr.evaluate(hint).value_or(0);
}

}  // namespace triptych::plan
