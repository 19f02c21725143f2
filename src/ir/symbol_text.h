// The text form of what a graph says about its symbols, behind the words "symbol" and "guard":
//   s0 in [2, inf] hint 5
//   s0 <= 128 because "the mask"
#pragma once

#include <string>

#include "ir/graph.h"
#include "support/scanner.h"

namespace triptych::ir {

void append_symbol_info(const SymbolInfo& symbol, std::string& out);
Result<SymbolInfo> parse_symbol_info(Scanner& scanner);
std::string relation_text(const SymGuard& guard);  // without the reason
void append_guard(const SymGuard& guard, std::string& out);
Result<SymGuard> parse_guard(Scanner& scanner);

}  // namespace triptych::ir
