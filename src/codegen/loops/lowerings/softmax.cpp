// Softmax and log-softmax along one dim, as passes over the row: maximum, sum of exponentials,
// result.
#include <cmath>

#include "codegen/loops/lowerings/families.h"
#include "codegen/loops/lowerings/row.h"

namespace triptych::loops {
namespace {

// Rows longer than this are computed twice rather than kept: they would not stay in a near cache.
constexpr std::int64_t kLongestKeptRow = 1 << 16;

struct SoftmaxRow {
  ValueId self;
  DType compute = DType::kF32;
  std::size_t dim = 0;
  Row row;
};

SoftmaxRow open(LoweringContext& context) {
  SoftmaxRow softmax;
  softmax.self = context.tensor_arg("self");
  softmax.compute = arithmetic_dtype(context.result_type().dtype);
  softmax.dim = wrap_dim(context.integer("dim"), context.rank(softmax.self));
  softmax.row = row_of_dims(context, softmax.self, std::span(&softmax.dim, 1), true);
  open_rows(context.builder, softmax.row);
  return softmax;
}

// A size as it was met while tracing.
std::int64_t expected(const ir::Graph& graph, const SymExpr& size) {
  const auto value = size.evaluate([&](Symbol symbol) -> std::optional<std::int64_t> {
    for (const ir::SymbolInfo& known : graph.symbols()) {
      if (known.name == symbol) return known.hint;
    }
    return std::nullopt;
  });
  return value.value_or(kLongestKeptRow + 1);
}

// Exponentials are kept in a row-local buffer when elements of the row lie side by side. A row of
// unknown length is kept when it was short at first: the buffer grows with what it meets.
bool keeps_row(const LoweringContext& context, const SoftmaxRow& softmax) {
  const ir::TensorType& type = context.type(softmax.self);
  if (softmax.dim + 1 != type.sizes.size() || !is_one(type.strides[softmax.dim])) return false;
  const std::int64_t size = expected(context.graph, type.sizes[softmax.dim]);
  return size > 1 && size <= kLongestKeptRow;
}

Status softmax(LoweringContext& context, bool safe) {
  SoftmaxRow s = open(context);
  Builder& builder = context.builder;
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(s.self, index, s.compute);
  };
  const ScalarId maximum = reduce_pass(builder, s.row, ReduceOp::kMax, element);
  const auto exponential = [&](std::span<const SymExpr> index) {
    return builder.unary(ScalarOp::kExp, builder.binary(ScalarOp::kSub, element(index), maximum));
  };
  std::optional<BufferId> kept;
  if (keeps_row(context, s)) kept = builder.add_local("row", s.compute, s.row.sizes[s.dim]);
  const ScalarId sum =
      reduce_pass(builder, s.row, ReduceOp::kSum, [&](std::span<const SymExpr> index) {
        const ScalarId e = exponential(index);
        if (kept) builder.store_local(*kept, index[s.dim], e);
        return e;
      });
  // One division for the row: the sum lies between 1 and the length, and a division costs as much
  // as an exponential.
  const ScalarId scale = builder.unary(ScalarOp::kReciprocal, sum);
  const std::vector<SymExpr> index = open_pass(builder, s.row);
  const ScalarId e = kept ? builder.load_local(*kept, index[s.dim]) : exponential(index);
  ScalarId result = builder.binary(ScalarOp::kMul, e, scale);
  if (safe) {
    // A row of -inf alone gives 0 instead of NaN.
    const ScalarId empty =
        builder.binary(ScalarOp::kEq, maximum, builder.constant(s.compute, -HUGE_VAL));
    result = builder.select(empty, builder.constant(s.compute, 0), result);
  }
  builder.store(context.result(), index, result);
  return Unit{};
}

}  // namespace

Status lower_softmax(LoweringContext& context) { return softmax(context, false); }
Status lower_safe_softmax(LoweringContext& context) { return softmax(context, true); }

Status lower_log_softmax(LoweringContext& context) {
  SoftmaxRow s = open(context);
  Builder& builder = context.builder;
  const auto element = [&](std::span<const SymExpr> index) {
    return builder.load_as(s.self, index, s.compute);
  };
  const ScalarId maximum = reduce_pass(builder, s.row, ReduceOp::kMax, element);
  const ScalarId sum =
      reduce_pass(builder, s.row, ReduceOp::kSum, [&](std::span<const SymExpr> index) {
        return builder.unary(ScalarOp::kExp,
                             builder.binary(ScalarOp::kSub, element(index), maximum));
      });
  const ScalarId log_sum = builder.unary(ScalarOp::kLog, sum);
  const std::vector<SymExpr> index = open_pass(builder, s.row);
  const ScalarId shifted = builder.binary(ScalarOp::kSub, element(index), maximum);
  builder.store(context.result(), index, builder.binary(ScalarOp::kSub, shifted, log_sum));
  return Unit{};
}

}  // namespace triptych::loops
