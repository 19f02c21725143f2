// Index expressions as integer code. Each term is computed at the depth of the loop that it depends
// on, so that the body of a loop adds only what changes there.
#pragma once

#include "codegen/writers/llvm/scope.h"

namespace triptych::writers::llvm {

// The value of `index` as a scalar i64; for the vector loop's variable, of the first lane of group
// 0.
Operand scalar_index(Scope& scope, const SymExpr& index);
// One i64 for each lane of group `u`.
Operand vector_index(Scope& scope, const SymExpr& index, int u);

// How the lanes of a vector access lie in memory.
struct Access {
  enum class Kind { kUniform, kContiguous, kStrided, kGather } kind = Kind::kUniform;
  Operand pointer;  // of the first lane (kGather: of the part of the index that all lanes share)
  std::int64_t stride = 0;  // kStrided: elements between lanes
  Operand offsets;          // kGather: <lanes x i64> elements from `pointer`
};
Access access(Scope& scope, BufferId buffer, const SymExpr& index, int u);

}  // namespace triptych::writers::llvm
