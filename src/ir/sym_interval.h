// Interval arithmetic over 64-bit integers with infinities, for the sym_*.cpp files only.
#pragma once

#include "ir/sym_expr.h"

namespace triptych::ir {

SymRange interval_add(SymRange a, SymRange b);
SymRange interval_multiply(SymRange a, SymRange b);
SymRange interval_floordiv(SymRange a, SymRange b);
SymRange interval_mod(SymRange a, SymRange b);
SymRange interval_min(SymRange a, SymRange b);
SymRange interval_max(SymRange a, SymRange b);

}  // namespace triptych::ir
