// Copies: the same elements in another layout, dtype or order.
#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {

// result[i] = self[i], cast to the result's dtype; the strides do the rest.
Status lower_copy(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  builder.store(context.result(), index, builder.load(self, index));
  return Unit{};
}

// copy(self, src): src broadcast to self's shape.
Status lower_copy_from(LoweringContext& context) {
  const ValueId source = context.tensor_arg("src");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const ScalarId value = builder.load(source, broadcast_index(index, context.type(source)));
  builder.store(context.result(), index, value);
  return Unit{};
}

}  // namespace triptych::loops
