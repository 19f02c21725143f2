// Lowers a normalized graph: each node becomes one kernel, a view that costs nothing, or an
// external call.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "codegen/loops/expression.h"
#include "codegen/loops/loop_program.h"
#include "ir/graph.h"

namespace triptych::loops {

// Lowerings of ops from outside the op table (custom ops), by qualified name:
// "mylib.gelu2.default". An entry wins over the op table's row of the same name.
class LoweringRegistry {
 public:
  // `expression` is read over the op's schema argument names, as in the op table.
  Status add_expression(std::string name, std::string_view expression);
  const Expression* find(std::string_view name) const;

 private:
  std::map<std::string, Expression, std::less<>> expressions_;
};

struct LowerOptions {
  DType default_float =
      DType::kF32;  // torch.get_default_dtype(): decides comparisons of ints with float numbers
  const LoweringRegistry* registry = nullptr;
};

// Requires a verified C2 graph. No node is refused: what has no lowering, or what its lowering does
// not cover, is an external item with the reason.
Result<LoopProgram> lower(ir::Graph graph, const LowerOptions& options = {});

}  // namespace triptych::loops
