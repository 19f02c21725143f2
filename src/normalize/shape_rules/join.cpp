// Rules of ops that put tensors together, repeat or pad them.
#include <ATen/TensorUtils.h>
#include <c10/core/WrapDimMinimal.h>

#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

using Tensors = c10::SmallVector<at::Tensor, 8>;

at::ScalarType promoted_list(const Tensors& tensors) {
  bool same = true;
  for (const at::Tensor& t : tensors) same = same && t.scalar_type() == tensors[0].scalar_type();
  if (same) return tensors[0].scalar_type();
  Promotion promotion;
  for (const at::Tensor& t : tensors) promotion.add(t);
  return promotion.result();
}

// The list's common format, contiguous where they differ.
at::MemoryFormat common_format(const Tensors& tensors) {
  std::optional<at::MemoryFormat> format;
  for (const at::Tensor& t : tensors) {
    const at::MemoryFormat own = t.suggest_memory_format();
    if (own == at::MemoryFormat::Contiguous) return own;
    if (format && *format != own) return at::MemoryFormat::Contiguous;
    format = own;
  }
  return format.value_or(at::MemoryFormat::Contiguous);
}

// 1-d tensors of no elements are skipped, whatever the others look like.
bool is_skipped(const at::Tensor& t) { return t.dim() == 1 && is_value(t.sym_size(0), 0); }

ResultMeta joined(const Tensors& tensors, int64_t asked_dim) {
  TORCH_CHECK_VALUE(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const at::Tensor* first = nullptr;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i].dim() != 0, "zero-dimensional tensor (at position ", i,
                ") cannot be concatenated");
    if (!first && !is_skipped(tensors[i])) first = &tensors[i];
  }
  const at::ScalarType dtype = promoted_list(tensors);
  if (!first) {
    c10::maybe_wrap_dim(asked_dim, tensors[0].dim());
    return fresh({0}, dtype, tensors[0].device());
  }
  const int64_t dim = c10::maybe_wrap_dim(asked_dim, first->dim());
  Sizes sizes = sizes_of(*first);
  c10::SymInt along = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    TORCH_CHECK(t.dim() == first->dim(), "Tensors must have same number of dimensions: got ",
                first->dim(), " and ", t.dim());
    for (int64_t d = 0; d < t.dim(); ++d) {
      TORCH_CHECK(d == dim || equal(t.sym_size(d), sizes[d]),
                  "Sizes of tensors must match except in dimension ", dim, ". Expected size ",
                  sizes[d], " but got size ", t.sym_size(d), " for tensor number ", i,
                  " in the list.");
    }
    along += t.sym_size(dim);
  }
  sizes[dim] = along;
  return fresh_in_format(std::move(sizes), dtype, first->device(), common_format(tensors));
}

void cat(RuleContext& ctx) { ctx.add_result(joined(as_tensors(ctx.arg(0)), ctx.arg(1).toInt())); }

// The cat along the dimension, which is then split; along a new last one, of unsqueezed tensors.
void stack(RuleContext& ctx) {
  const Tensors tensors = as_tensors(ctx.arg(0));
  TORCH_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const int64_t rank = tensors[0].dim();
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), rank + 1);
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    TORCH_CHECK(equal(tensors[i].sym_sizes(), tensors[0].sym_sizes()),
                "stack expects each tensor to be equal size, but got ", tensors[0].sym_sizes(),
                " at entry 0 and ", tensors[i].sym_sizes(), " at entry ", i);
  }
  Sizes sizes = sizes_of(tensors[0]);
  sizes.insert(sizes.begin() + dim, c10::SymInt(static_cast<int64_t>(tensors.size())));
  ResultMeta result = fresh(sizes, promoted_list(tensors), tensors[0].device());
  if (dim < rank) {
    const ResultMeta flat = joined(tensors, dim);
    if (const auto strides = at::detail::computeStride(flat.sizes, flat.strides, sizes)) {
      result.strides = *strides;
    }
  }
  ctx.add_result(std::move(result));
}

void repeat(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  Sizes sizes = as_sizes(ctx.arg(1));
  TORCH_CHECK(static_cast<int64_t>(sizes.size()) >= self.dim(),
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
              "tensor");
  const std::size_t offset = sizes.size() - self.dim();
  for (std::size_t i = offset; i < sizes.size(); ++i) sizes[i] *= self.sym_size(i - offset);
  for (const c10::SymInt& size : sizes) {
    TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ",
                SizesRef(sizes));
  }
  ctx.add_result(fresh_like(std::move(sizes), self));
}

// Grows the last sizes by pairs of (before, after), the last dimension first.
void grow(Sizes& sizes, const Sizes& pad) {
  for (std::size_t i = 0; i + 1 < pad.size(); i += 2) {
    sizes[sizes.size() - 1 - i / 2] += pad[i] + pad[i + 1];
  }
}

void constant_pad(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes pad = as_sizes(ctx.arg(1));
  TORCH_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  TORCH_CHECK(static_cast<int64_t>(pad.size()) <= 2 * self.dim(),
              "Length of pad should be no more than twice the number of dimensions of the input. "
              "Pad length is ",
              pad.size(), " while the input has ", self.dim(), " dimensions.");
  Sizes sizes = sizes_of(self);
  grow(sizes, pad);
  bool all_negative = true;
  for (const c10::SymInt& p : pad) all_negative = all_negative && p <= 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(!all_negative || sizes[i] >= 0, "narrow(): length must be non-negative.");
    TORCH_CHECK(sizes[i] >= 0, "The input size ", self.sym_size(i), ", plus negative padding, ",
                "resulted in a negative output size, which is invalid. Check dimension ", i,
                " of your input.");
  }
  const at::MemoryFormat format =
      all_negative ? at::MemoryFormat::Preserve : self.suggest_memory_format();
  if (format != at::MemoryFormat::Preserve) {
    ctx.add_result(fresh_in_format(std::move(sizes), self.scalar_type(), self.device(), format));
    return;
  }
  // A clone of the narrowed input.
  ResultMeta result = fresh_like(sizes, self);
  result.strides = equal(sizes, self.sym_sizes()) && is_non_overlapping_and_dense(self)
                       ? strides_of(self)
                       : dense_strides_like(sizes, self.sym_strides());
  ctx.add_result(std::move(result));
}

// reflection_pad*, replication_pad*: `pad` grows the last dimensions.
void mirror_pad(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes pad = as_sizes(ctx.arg(1));
  Sizes sizes = sizes_of(self);
  grow(sizes, pad);
  const bool reflects = short_name(ctx).starts_with("reflection");
  for (std::size_t i = 0; i < pad.size(); ++i) {
    const c10::SymInt& size = self.sym_size(self.dim() - 1 - static_cast<int64_t>(i / 2));
    TORCH_CHECK(!reflects || pad[i] < size,
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                "but got: padding (",
                pad[i - i % 2], ", ", pad[i - i % 2 + 1], ") at dimension ",
                self.dim() - 1 - static_cast<int64_t>(i / 2), " of input ", self.sym_sizes());
  }
  const bool images = pad.size() == 4 && self.dim() == 4;
  ctx.add_result(
      fresh_in_format(std::move(sizes), self.scalar_type(), self.device(),
                      images ? self.suggest_memory_format() : at::MemoryFormat::Contiguous));
}

constexpr NamedRule kRules[] = {
    {"cat", cat},
    {"constant_pad", constant_pad},
    {"mirror_pad", mirror_pad},
    {"repeat", repeat},
    {"stack", stack},
};

}  // namespace

std::span<const NamedRule> join_rules() { return kRules; }

}  // namespace triptych::normalize
