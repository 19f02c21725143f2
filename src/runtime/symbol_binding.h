// The values of a graph's symbols for one call, read from the inputs.
#pragma once

#include <map>
#include <vector>

#include <ATen/core/ivalue.h>

#include "ir/graph.h"

namespace triptych::runtime {

using SymbolValues = std::map<ir::Symbol, std::int64_t>;

// Every input size, stride or integer that is a bare symbol binds it, the first one wins.
SymbolValues bind_symbols(const ir::Graph& graph, const std::vector<c10::IValue>& inputs);

// Throws ProgramError when a symbol is unbound.
std::int64_t evaluate(const ir::SymExpr& expr, const SymbolValues& symbols);

}  // namespace triptych::runtime
