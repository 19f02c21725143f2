// How large a symbolic integer is, for those who must not let it grow.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/sym_expr.h"

namespace triptych::ir {

// Its terms, their atoms, and what stands in these, as when it is written out. What is done to an
// expression takes time by its size.
std::size_t size_of(const SymExpr& e);

// Sizes of a trace that grow beyond this become numbers; their guards have this reason code.
inline constexpr std::size_t kMaxTracedSize = 1024;
inline constexpr std::string_view kTooLarge = "symbolic.too_large";

}  // namespace triptych::ir
