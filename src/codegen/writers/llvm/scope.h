// What is visible while the body of a kernel is printed: symbols, scalars, and the vector loop
// around us.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/loops/kernel.h"
#include "codegen/mapping/traits.h"
#include "codegen/writers/llvm/ir_text.h"
#include "ir/sym_expr.h"

namespace triptych::writers::llvm {

using ir::Symbol;
using ir::SymExpr;
using loops::BufferId;
using loops::ScalarId;

// The vector loop being printed. Each iteration runs `unroll` groups of `lanes` consecutive values
// of `variable`, the first one being `base`. lanes == 1: scalar code (no vector loop, or the tail
// of one on a machine without masked memory).
struct VectorContext {
  bool active = false;
  Symbol variable;
  int lanes = 1;
  int unroll = 1;
  int level = 0;     // of the loop region
  std::string mask;  // <lanes x i1>, empty: all lanes run; unroll is 1 when there is a mask
  bool vector() const { return active && lanes > 1; }
};

struct Scope {
  Scope(const loops::Kernel& k, const mapping::Traits& t) : kernel(k), traits(t) {}

  const loops::Kernel& kernel;
  const mapping::Traits& traits;
  Code code;
  VectorContext vector;
  std::map<Symbol, Operand> symbols;  // sizes and loop variables: scalar i64
  ir::SymRanges ranges;
  std::map<ScalarId, std::vector<Operand>> scalars;  // one operand, or one for each unrolled group
  std::vector<Operand> buffers;                      // pointers, by BufferId
  bool streaming = false;       // whole vectors to `streamed` bypass the caches
  std::set<BufferId> streamed;  // and are aligned to the vector's size

  // The scalar of group `u`, as it is (one lane when it is the same in all lanes).
  const Operand& get(ScalarId id, int u) const;
  // The same in all lanes of the vector loop; a broadcast is emitted where the value was made.
  Operand broadcast(const Operand& value);
  Operand lanes_of(ScalarId id, int u) { return broadcast(get(id, u)); }
  // Whether an index differs between the lanes.
  bool varies(const SymExpr& index) const;
  // The scalar named by "v12"; invalid when the symbol is a size or a loop variable.
  ScalarId scalar_symbol(Symbol symbol) const;
  bool indirect(const SymExpr& index) const;
};

}  // namespace triptych::writers::llvm
