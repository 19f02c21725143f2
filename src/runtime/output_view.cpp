#include "runtime/output_view.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>

#include "torch_types/torch_types.h"

namespace triptych::runtime {

using Kind = ir::Output::Kind;

static const ir::TensorType& type_of(std::span<const ir::Output> outputs, const ir::Output& output,
                                     const OutputTypes& types) {
  switch (output.kind) {
    case Kind::kFresh:
      return types.of_value(output.value);
    case Kind::kInput:
      return types.of_input(output.index);
    case Kind::kSameAs:
      return type_of(outputs, outputs[output.index], types);
    case Kind::kViewOfInput:
    case Kind::kViewOfOutput:
    case Kind::kLiteral:
      break;
  }
  return output.view;
}

OutputView output_view(std::span<const ir::Output> outputs, const ir::Output& output,
                       const OutputTypes& types) {
  const ir::TensorType& base = output.kind == Kind::kViewOfInput
                                   ? types.of_input(output.index)
                                   : type_of(outputs, outputs[output.index], types);
  const ir::TensorType& view = output.view;
  if (view.dtype == base.dtype) return {view.storage_offset - base.storage_offset, std::nullopt};
  const auto bytes = [](const ir::TensorType& type) {
    return type.storage_offset * ir::SymExpr(ir::dtype_bytes(type.dtype));
  };
  return {bytes(view) - bytes(base), to_torch(view.dtype)};
}

static at::Tensor view_of_dtype(const at::Tensor& base, c10::ScalarType dtype,
                                at::IntArrayRef sizes, at::IntArrayRef strides,
                                std::int64_t distance) {
  const auto item = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t start =
      base.storage_offset() * static_cast<std::int64_t>(base.itemsize()) + distance;
  TORCH_CHECK(start % item == 0, "self.storage_offset() must be divisible by ",
              item / static_cast<std::int64_t>(base.itemsize()), " to view ", base.scalar_type(),
              " as ", dtype, " (different element sizes), but got ", base.storage_offset());
  at::Tensor view = at::empty({0}, base.options().dtype(dtype));
  return view.set_(base.storage(), start / item, sizes, strides);
}

at::Tensor base_of_view(const ir::Output& output, const at::Tensor& base) {
  return output.detached ? base.detach() : base;
}

at::Tensor view_of_base(const at::Tensor& base, std::optional<c10::ScalarType> other_dtype,
                        at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t distance) {
  if (other_dtype) return view_of_dtype(base, *other_dtype, sizes, strides, distance);
  return base.as_strided(sizes, strides, base.storage_offset() + distance);
}

}  // namespace triptych::runtime
