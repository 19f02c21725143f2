// The metadata that at::TensorIterator gives to a fresh result: broadcast sizes, dtype promotion,
// common device, and strides that follow the operands'.
#pragma once

#include <ATen/native/TypeProperties.h>

#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {

using Operands = c10::SmallVector<const at::Tensor*, 4>;

Sizes broadcast(SizesRef a, SizesRef b);

struct IteratorOptions {
  // The CPU's iterator first converts operands of other dtypes, which makes them dense.
  std::optional<at::ScalarType> common_dtype;
  bool with_number = false;  // a Scalar takes part as a 0-d operand, as in aten.add.Scalar
};

// Operands in the iterator's order.
ResultMeta elementwise(const Operands& operands, at::ScalarType dtype,
                       const IteratorOptions& options = {});

struct Layout {
  Sizes sizes;
  Sizes strides;
};

// The strides of a fresh result where all operands have one shape and one dense layout.
std::optional<Sizes> dense_strides(c10::ArrayRef<Layout> operands, SizesRef shape);

// The strides of a fresh result of an iterator whose operands differ in shape or layout.
Sizes iterator_strides(c10::ArrayRef<Layout> operands, SizesRef shape);

// Every defined tensor argument, lists left out.
Operands tensor_operands(const RuleContext& ctx);

// c10's promotion over tensors and Scalars in three priorities: dimensioned, 0-d, wrapped numbers.
class Promotion {
 public:
  void add(const at::Tensor& t);
  void add_number(const c10::IValue& v);
  at::ScalarType result() const { return at::native::result_type(state_); }

 private:
  at::native::ResultTypeState state_;
};
at::ScalarType promoted(const Operands& operands);

}  // namespace triptych::normalize
