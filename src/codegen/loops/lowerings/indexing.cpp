// Reads at places that an index tensor names. Every index is checked before use; eager raises
// IndexError.
#include <array>

#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
namespace {

bool is_index_dtype(DType dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

// An i64 scalar in [0, size) as an index, checked. `wraps`: negative indices count from the end.
SymExpr checked_index(Builder& builder, ScalarId raw, const SymExpr& size, bool wraps) {
  ScalarId index = builder.cast(raw, DType::kI64);
  const ScalarId zero = builder.constant_int(DType::kI64, 0);
  const ScalarId bound = builder.index_value(size);
  if (wraps) {
    const ScalarId negative = builder.binary(ScalarOp::kLt, index, zero);
    index = builder.select(negative, builder.binary(ScalarOp::kAdd, index, bound), index);
  }
  const ScalarId inside =
      builder.binary(ScalarOp::kLogicalAnd, builder.binary(ScalarOp::kGe, index, zero),
                     builder.binary(ScalarOp::kLt, index, bound));
  builder.check(inside, Check::Code::kIndexOutOfRange);
  return builder.index_symbol(index);
}

}  // namespace

// result[i..., k] = weight[indices[i...], k]
Status lower_embedding(LoweringContext& context) {
  const ValueId weight = context.tensor_arg("weight");
  const ValueId indices = context.tensor_arg("indices");
  if (!is_index_dtype(context.type(indices).dtype))
    return not_lowered("indices that are no integers");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const ScalarId raw = builder.load(indices, std::span(index).first(index.size() - 1));
  const std::array at = {checked_index(builder, raw, context.type(weight).sizes[0], false),
                         index.back()};
  builder.store(context.result(), index, builder.load(weight, at));
  return Unit{};
}

// result[.., i, ..] = self[.., index[i], ..] along dim
Status lower_index_select(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const ValueId positions = context.tensor_arg("index");
  if (!is_index_dtype(context.type(positions).dtype))
    return not_lowered("an index that is no integer");
  if (context.rank(self) == 0) return not_lowered("index_select of a 0-d tensor");
  Builder& builder = context.builder;
  const std::size_t dim = wrap_dim(context.integer("dim"), context.rank(self));
  std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const std::span<const SymExpr> at =
      std::span<const SymExpr>(index).subspan(dim, context.rank(positions));
  std::vector<SymExpr> source = index;
  source[dim] =
      checked_index(builder, builder.load(positions, at), context.type(self).sizes[dim], false);
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

// result[i...] = self[i... with index[i...] along dim]
Status lower_gather(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const ValueId positions = context.tensor_arg("index");
  if (!is_index_dtype(context.type(positions).dtype))
    return not_lowered("an index that is no integer");
  if (context.rank(self) != context.rank(positions) || context.rank(self) == 0) {
    return not_lowered("gather of a 0-d tensor");
  }
  Builder& builder = context.builder;
  const std::size_t dim = wrap_dim(context.integer("dim"), context.rank(self));
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  std::vector<SymExpr> source = index;
  source[dim] =
      checked_index(builder, builder.load(positions, index), context.type(self).sizes[dim], false);
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

// Advanced indexing: the broadcast index dims stand where the first indexed dim stood when the
// indexed dims are neighbours, else in front.
Status lower_index(LoweringContext& context) {
  const ValueId self = context.tensor_arg("self");
  const auto& list = context.arg("indices").get<ir::ArgumentList>().items;
  const ir::TensorType& type = context.type(self);
  std::size_t broadcast_rank = 0, first = list.size(), last = 0, given = 0;
  for (std::size_t d = 0; d < list.size(); ++d) {
    const auto* value = list[d].get_if<ValueId>();
    if (value == nullptr) continue;
    if (!is_index_dtype(context.type(*value).dtype))
      return not_lowered("a mask as index: the result's size is data");
    broadcast_rank = std::max(broadcast_rank, context.rank(*value));
    first = std::min(first, d);
    last = d;
    ++given;
  }
  if (given == 0) return lower_copy(context);
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  const std::size_t start = last - first + 1 == given ? first : 0;
  const std::span<const SymExpr> broadcast = std::span(index).subspan(start, broadcast_rank);
  std::vector<SymExpr> source;
  std::size_t plain = 0;  // next dim of the result that is not one of the broadcast dims
  for (std::size_t d = 0; d < type.sizes.size(); ++d) {
    const auto* value = d < list.size() ? list[d].get_if<ValueId>() : nullptr;
    if (value == nullptr) {
      source.push_back(index[plain < start ? plain : plain + broadcast_rank]);
      ++plain;
      continue;
    }
    const ScalarId raw = builder.load(*value, broadcast_index(broadcast, context.type(*value)));
    source.push_back(checked_index(builder, raw, type.sizes[d], true));
  }
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

}  // namespace triptych::loops
