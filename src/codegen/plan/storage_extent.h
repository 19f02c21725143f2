// Sizes of tensors in memory.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace triptych::plan {

// Elements from the first to the last, in memory order, both included: 0 when a size is 0.
// With symbolic sizes the formula holds for sizes of at least 1 (smaller ones are specialised).
ir::SymExpr extent_in_elements(const ir::TensorType& type);
ir::SymExpr extent_in_bytes(const ir::TensorType& type);

// `expr` with every symbol at its hint; unknown symbols count as 2.
std::int64_t at_hints(const ir::SymExpr& expr, const std::vector<ir::SymbolInfo>& symbols);

}  // namespace triptych::plan
