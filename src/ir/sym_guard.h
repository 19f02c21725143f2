// Whether the relation of a guard holds between two numbers.
#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "support/check.h"

namespace triptych::ir {

inline bool holds(SymGuard::Kind kind, std::int64_t left, std::int64_t right) {
  switch (kind) {
    case SymGuard::Kind::kEq:
      return left == right;
    case SymGuard::Kind::kNe:
      return left != right;
    case SymGuard::Kind::kLt:
      return left < right;
    case SymGuard::Kind::kLe:
      return left <= right;
  }
  TRIPTYCH_UNREACHABLE("guard kind");
}

}  // namespace triptych::ir
