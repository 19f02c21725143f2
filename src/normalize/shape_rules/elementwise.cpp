#include "normalize/shape_rules/elementwise.h"

#include <c10/core/Contiguity.h>
#include <c10/core/Scalar.h>

#include <utility>

namespace triptych::normalize {

Sizes broadcast(SizesRef a, SizesRef b) {
  const std::size_t n = std::max(a.size(), b.size());
  Sizes out(n, 1);
  for (std::size_t from_end = 1; from_end <= n; ++from_end) {
    const std::size_t at = n - from_end;
    if (from_end > a.size()) {
      out[at] = b[b.size() - from_end];
    } else if (from_end > b.size()) {
      out[at] = a[a.size() - from_end];
    } else {
      const c10::SymInt& x = a[a.size() - from_end];
      const c10::SymInt& y = b[b.size() - from_end];
      if (is_value(x, 1)) {
        out[at] = y;
      } else {
        TORCH_CHECK(is_value(y, 1) || equal(x, y), "The size of tensor a (", x,
                    ") must match the size of tensor b (", y, ") at non-singleton dimension ", at);
        out[at] = x;
      }
    }
  }
  return out;
}

namespace {

// Returns whether all operands have one shape, a 0-d operand among others counting as another
// shape.
bool common_shape(const Operands& operands, Sizes& shape) {
  const SizesRef first = operands[0]->sym_sizes();
  shape.assign(first.begin(), first.end());
  bool same = true;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const SizesRef sizes = operands[i]->sym_sizes();
    if (equal(sizes, shape)) continue;
    same = false;
    shape = broadcast(shape, sizes);
  }
  return same;
}

c10::Device common_device(const Operands& operands) {
  c10::Device device = operands[0]->device();
  for (const at::Tensor* t : operands) {
    if (!device.is_cpu()) break;
    device = t->device();
  }
  for (const at::Tensor* t : operands) {
    const bool may_mix = t->dim() == 0 && t->device().is_cpu();
    TORCH_CHECK(may_mix || t->device() == device,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                device, " and ", t->device(), "!");
  }
  return device;
}

// TensorIterator's fast setup: operands of one shape and one dense layout.
bool dense_setup(const Operands& operands, ResultMeta& result) {
  bool contiguous = true;
  for (const at::Tensor* t : operands) contiguous = contiguous && is_contiguous(*t);
  if (contiguous) {
    result.strides = contiguous_strides(result.sizes);
    return true;
  }
  bool channels_last = result.sizes.size() == 4;
  for (const at::Tensor* t : operands) {
    channels_last = channels_last && t->is_contiguous(at::MemoryFormat::ChannelsLast);
  }
  if (channels_last) {
    result.strides = strides_of_format(result.sizes, at::MemoryFormat::ChannelsLast);
    return true;
  }
  for (const at::Tensor* t : operands) {
    if (!is_non_overlapping_and_dense(*t)) return false;
    if (t != operands.back() && !equal(t->sym_strides(), operands.back()->sym_strides())) {
      return false;
    }
  }
  result.strides = strides_of(*operands.back());
  return true;
}

// In the result's dimensions, 0 where the operand is broadcast.
Sizes broadcast_strides(const Layout& operand, SizesRef shape) {
  Sizes out(shape.size(), 0);
  const std::size_t offset = shape.size() - operand.sizes.size();
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    const bool expanded = is_value(operand.sizes[i], 1) && !is_value(shape[offset + i], 1);
    if (!expanded) out[offset + i] = operand.strides[i];
  }
  return out;
}

// Positive: dim0 belongs outside dim1; negative: they are in order; 0: the operands do not tell.
int compare_dims(c10::ArrayRef<Sizes> operands, SizesRef shape, int64_t dim0, int64_t dim1) {
  for (const Sizes& operand : operands) {
    const c10::SymInt& stride0 = operand[dim0];
    const c10::SymInt& stride1 = operand[dim1];
    if (is_value(stride0, 0) || is_value(stride1, 0)) continue;
    if (!equal(stride0, stride1)) return stride0 < stride1 ? -1 : 1;
    if (!equal(shape[dim0], shape[dim1]) && shape[dim0] > shape[dim1]) return 1;
  }
  return 0;
}

}  // namespace

// TensorIterator's reorder_dimensions: innermost first, ties by the earlier operand.
Sizes iterator_strides(c10::ArrayRef<Layout> operands, SizesRef shape) {
  const int64_t n = static_cast<int64_t>(shape.size());
  c10::SmallVector<Sizes, 4> strides;
  for (const Layout& operand : operands) strides.push_back(broadcast_strides(operand, shape));
  Dims perm(n);
  for (int64_t i = 0; i < n; ++i) perm[i] = n - 1 - i;
  for (int64_t i = 1; i < n; ++i) {
    int64_t at = i;
    for (int64_t before = i - 1; before >= 0; --before) {
      const int comparison = compare_dims(strides, shape, perm[before], perm[at]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(perm[before], perm[at]);
      at = before;
    }
  }
  bool inverted = true;
  for (int64_t i = 0; i < n; ++i) inverted = inverted && perm[i] == n - 1 - i;
  if (inverted) return contiguous_strides(shape);
  // Here, unlike in a contiguous result, an empty dimension makes the strides outside it 0.
  Sizes out(n, 0);
  c10::SymInt stride = 1;
  for (const int64_t dim : perm) {
    out[dim] = stride;
    stride *= shape[dim];
  }
  return out;
}

std::optional<Sizes> dense_strides(c10::ArrayRef<Layout> operands, SizesRef shape) {
  const c10::SymInt numel = product(shape);
  bool contiguous = true;
  bool channels_last = shape.size() == 4;
  for (const Layout& operand : operands) {
    const SizesRef strides = operand.strides;
    contiguous = contiguous && c10::_compute_contiguous<c10::SymInt>(shape, strides, numel);
    channels_last =
        channels_last && c10::_compute_channels_last_contiguous_2d<c10::SymInt>(shape, strides);
  }
  if (contiguous) return contiguous_strides(shape);
  if (channels_last) return strides_of_format(shape, at::MemoryFormat::ChannelsLast);
  for (const Layout& operand : operands) {
    const SizesRef strides = operand.strides;
    if (!c10::_compute_non_overlapping_and_dense<c10::SymInt>(shape, strides) ||
        !equal(strides, operands.back().strides)) {
      return std::nullopt;
    }
  }
  return operands.back().strides;
}

ResultMeta elementwise(const Operands& operands, at::ScalarType dtype,
                       const IteratorOptions& options) {
  ResultMeta result;
  result.dtype = dtype;
  TORCH_INTERNAL_ASSERT(!operands.empty());
  const bool same_shape = common_shape(operands, result.sizes);
  result.device = common_device(operands);
  const bool one_shape = same_shape && !(options.with_number && !result.sizes.empty());
  const auto converted = [&](const at::Tensor& t) {
    return options.common_dtype && result.device.is_cpu() &&
           t.scalar_type() != *options.common_dtype;
  };
  bool any_converted = false;
  for (const at::Tensor* t : operands) any_converted = any_converted || converted(*t);
  if (one_shape && !any_converted && dense_setup(operands, result)) return result;
  c10::SmallVector<Layout, 4> layouts;
  for (const at::Tensor* t : operands) {
    layouts.push_back({sizes_of(*t), converted(*t) ? strides_like(*t, at::MemoryFormat::Preserve)
                                                   : strides_of(*t)});
  }
  if (one_shape && any_converted) {
    if (auto strides = dense_strides(layouts, result.sizes)) {
      result.strides = std::move(*strides);
      return result;
    }
  }
  result.strides = iterator_strides(layouts, result.sizes);
  return result;
}

Operands tensor_operands(const RuleContext& ctx) {
  Operands out;
  for (std::size_t i = 0; i < ctx.num_args(); ++i) {
    if (ctx.has_tensor(i)) out.push_back(&ctx.tensor(i));
  }
  return out;
}

void Promotion::add(const at::Tensor& t) {
  state_ = at::native::update_result_type_state(t, state_);
}

void Promotion::add_number(const c10::IValue& v) {
  c10::Scalar scalar;
  if (v.isSymInt() || v.isInt()) {
    scalar = c10::Scalar(int64_t{0});
  } else if (v.isBool() || v.isSymBool()) {
    scalar = c10::Scalar(false);
  } else if (v.isComplexDouble()) {
    scalar = c10::Scalar(c10::complex<double>(0, 0));
  } else {
    scalar = c10::Scalar(0.0);
  }
  state_ = at::native::update_result_type_state(scalar, state_);
}

at::ScalarType promoted(const Operands& operands) {
  bool plain = true;  // one dtype: nothing to promote, wrapped numbers included
  const at::ScalarType first = operands[0]->scalar_type();
  for (const at::Tensor* t : operands) plain = plain && t->scalar_type() == first;
  if (plain) return first;
  Promotion promotion;
  for (const at::Tensor* t : operands) promotion.add(*t);
  return promotion.result();
}

}  // namespace triptych::normalize
