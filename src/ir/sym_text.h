// Symbolic integers inside larger texts: parsing from a scanner, printing onto a string.
#pragma once

#include <string>

#include "ir/sym_expr.h"
#include "support/scanner.h"

namespace triptych::ir {

Result<SymExpr> parse_sym_expr(Scanner& scanner);  // stops at the first token that cannot go on
void append_sym_expr(const SymExpr& e, std::string& out);

}  // namespace triptych::ir
