// Copies: the same elements in another layout, dtype or order.
#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
// result[i] = self[i], cast to the result's dtype; the strides do the rest.
Status lower_copy(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const ScalarId value = builder.load(self, index);
  builder.store(context.result(), index, builder.rounding_cast(value, context.result_type().dtype));
  return Unit{};
}

// copy(self, src): src broadcast to self's shape.
Status lower_copy_from(LoweringContext& context) {
  const ValueId source = context.tensor_arg("src");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const ScalarId value = builder.load(source, broadcast_index(index, context.type(source)));
  builder.store(context.result(), index, builder.rounding_cast(value, context.result_type().dtype));
  return Unit{};
}

// result[i] = self[i mod size], dims aligned at the end.
Status lower_repeat(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const ir::TensorType& type = context.type(self);
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const std::size_t extra = index.size() - type.sizes.size();
  std::vector<SymExpr> source;
  for (std::size_t d = 0; d < type.sizes.size(); ++d) {
    const bool once = type.sizes[d] == context.result_type().sizes[d + extra];
    const bool empty = type.sizes[d].as_constant() == 0;
    source.push_back(once || empty ? index[d + extra] : mod(index[d + extra], type.sizes[d]));
  }
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

// result[i] = self[size - 1 - i] along the flipped dims.
Status lower_flip(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const ir::TensorType& type = context.type(self);
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  std::vector<SymExpr> source = index;
  for (const std::int64_t dim : context.integers("dims")) {
    const std::size_t d = wrap_dim(dim, type.sizes.size());
    if (d < source.size()) source[d] = type.sizes[d] - SymExpr(1) - index[d];
  }
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

// result[i] = self[(i - shift) mod size] along the given dims.
Status lower_roll(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const ir::TensorType& type = context.type(self);
  const std::vector<SymExpr> shifts = context.sizes("shifts");
  const std::vector<std::int64_t> dims = context.integers("dims");
  if (dims.size() != shifts.size()) return not_lowered("roll of the flattened tensor");
  if (element_extent(type).as_constant() == 0) return not_lowered("roll of an empty tensor");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  std::vector<SymExpr> source = index;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t d = wrap_dim(dims[i], type.sizes.size());
    if (d < source.size() && !is_one(type.sizes[d]))
      source[d] = mod(source[d] - shifts[i], type.sizes[d]);
  }
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

}  // namespace triptych::loops
