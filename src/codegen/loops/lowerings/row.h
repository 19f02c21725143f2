// Reductions over some dims of one tensor: outer loops over the kept dims, inner loops over the
// reduced ones.
#pragma once

#include <span>
#include <vector>

#include "codegen/loops/lowerings/lowering.h"

namespace triptych::loops {

struct Row {
  std::vector<SymExpr> sizes;  // of the reduced tensor
  std::vector<bool> reduced;   // per dim
  bool keepdim = false;
  std::vector<SymExpr> outer;  // per dim: the outer loop's variable; undefined (0) where reduced

  // Number of reduced elements.
  SymExpr count() const;
  std::size_t reduced_loops() const;  // loops that a pass over the row needs
  // The result's index in the outer loops.
  std::vector<SymExpr> result_index() const;
};

// From the node's `dim` and `keepdim` arguments as reductions have them.
Row row_of_arguments(const LoweringContext& context, ValueId self);
Row row_of_dims(const LoweringContext& context, ValueId self, std::span<const std::size_t> dims,
                bool keepdim);

// Opens the outer loops and fills row.outer.
void open_rows(Builder& builder, Row& row);
// Opens the loops of one pass over the row; returns the full index of the element.
std::vector<SymExpr> open_pass(Builder& builder, const Row& row);
// Closes the pass that open_pass opened, reducing.
std::vector<ScalarId> close_pass(Builder& builder, int open_before,
                                 std::span<const Builder::Reduce> reductions);

// One whole pass with one reduction: returns its first result. value(index) gives the reduced
// scalar.
template <class Value>
ScalarId reduce_pass(Builder& builder, const Row& row, ReduceOp op, const Value& value) {
  const int before = builder.open_count();
  const std::vector<SymExpr> index = open_pass(builder, row);
  const Builder::Reduce reduce{op, value(index)};
  return close_pass(builder, before, std::span(&reduce, 1))[0];
}

// The number of elements as a scalar of `dtype`.
ScalarId count_scalar(Builder& builder, const SymExpr& count, DType dtype);

// Mean and sum of squared deviations over the row of value(index), in two passes.
struct Moments {
  ScalarId mean, squares;
};
template <class Value>
Moments moments(Builder& builder, const Row& row, DType dtype, const Value& value) {
  const ScalarId sum = reduce_pass(builder, row, ReduceOp::kSum, value);
  const ScalarId mean =
      builder.binary(ScalarOp::kDiv, sum, count_scalar(builder, row.count(), dtype));
  const ScalarId squares =
      reduce_pass(builder, row, ReduceOp::kSum, [&](std::span<const SymExpr> index) {
        const ScalarId centred = builder.binary(ScalarOp::kSub, value(index), mean);
        return builder.binary(ScalarOp::kMul, centred, centred);
      });
  return {mean, squares};
}

}  // namespace triptych::loops
