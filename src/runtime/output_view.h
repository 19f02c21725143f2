// Outputs that are views of inputs or of other outputs: where they lie in their base, and how they
// are made from it.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "ir/graph.h"

namespace triptych::runtime {

// The types of what outputs name, as they were traced.
struct OutputTypes {
  std::function<const ir::TensorType&(std::uint32_t input)> of_input;
  std::function<const ir::TensorType&(ir::ValueId)> of_value;
};

struct OutputView {
  ir::SymExpr distance;  // of the first elements, in bytes where the base has another dtype
  std::optional<c10::ScalarType> other_dtype;
};

// Of a kViewOfInput or kViewOfOutput. The base may stand at another offset than when it was traced:
// the view keeps its distance to it.
OutputView output_view(std::span<const ir::Output> outputs, const ir::Output& output,
                       const OutputTypes& types);

// What the view is made of: the input itself, or what it is without its gradient.
at::Tensor base_of_view(const ir::Output& output, const at::Tensor& base);

// Raises what eager raises where a view of another dtype would not start at a whole element.
at::Tensor view_of_base(const at::Tensor& base, std::optional<c10::ScalarType> other_dtype,
                        at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t distance);

}  // namespace triptych::runtime
