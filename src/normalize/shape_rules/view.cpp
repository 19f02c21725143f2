// Rules of views: the result shares the first argument's storage.
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <bitset>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

ResultMeta view_of(const at::Tensor& self, Sizes sizes, Sizes strides, c10::SymInt offset) {
  ResultMeta result;
  result.sizes = std::move(sizes);
  result.strides = std::move(strides);
  result.storage_offset = std::move(offset);
  result.dtype = self.scalar_type();
  result.device = self.device();
  result.alias_of = 0;
  return result;
}

ResultMeta view_of(const at::Tensor& self, Sizes sizes, Sizes strides) {
  return view_of(self, std::move(sizes), std::move(strides), self.sym_storage_offset());
}

void alias(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ctx.add_result(view_of(self, sizes_of(self), strides_of(self)));
}

Sizes view_strides(const at::Tensor& self, SizesRef sizes) {
  // A plainly contiguous input gives plainly contiguous strides: no search, no guards.
  const SizesRef old_sizes = self.sym_sizes();
  const Sizes contiguous = contiguous_strides(old_sizes);
  const SizesRef old_strides = self.sym_strides();
  bool plain = true;
  for (std::size_t i = 0; i < contiguous.size() && plain; ++i) {
    const bool decided = contiguous[i].is_heap_allocated() == old_strides[i].is_heap_allocated();
    plain = decided && equal(contiguous[i], old_strides[i]);
  }
  if (plain && !is_value(self.sym_numel(), 0)) return contiguous_strides(sizes);
  const auto strides = at::detail::computeStride(old_sizes, old_strides, sizes);
  TORCH_CHECK(strides.has_value(),
              "view size is not compatible with input tensor's size and stride (at least one "
              "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  return *strides;
}

void view(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes asked = as_sizes(ctx.arg(1));
  Sizes sizes = at::infer_size_dv(SizesRef(asked), self.sym_numel());
  Sizes strides = view_strides(self, sizes);
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides)));
}

// aten._unsafe_view: a view whose schema does not say so.
void unsafe_view(RuleContext& ctx) {
  view(ctx);
  ctx.results()[0].alias_of = -1;
  ctx.results()[0].storage_offset = 0;
}

// aten.view.dtype: the last dimension shrinks or grows with the element.
void view_dtype(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::ScalarType dtype = ctx.arg(1).toScalarType();
  const int64_t from = static_cast<int64_t>(c10::elementSize(self.scalar_type()));
  const int64_t to = static_cast<int64_t>(c10::elementSize(dtype));
  Sizes sizes = sizes_of(self);
  Sizes strides = strides_of(self);
  c10::SymInt offset = self.sym_storage_offset();
  if (from != to) {
    TORCH_CHECK(self.dim() != 0, "self.dim() cannot be 0 to view ", self.scalar_type(), " as ",
                dtype, " (different element sizes)");
    TORCH_CHECK(is_value(strides.back(), 1), "self.stride(-1) must be 1 to view ",
                self.scalar_type(), " as ", dtype, " (different element sizes), but got ",
                strides.back());
    const bool shrinks = from > to;
    const int64_t ratio = shrinks ? from / to : to / from;
    for (std::size_t i = 0; i + 1 < strides.size(); ++i) {
      strides[i] = shrinks ? strides[i] * ratio : strides[i] / ratio;
    }
    if (!shrinks) {
      TORCH_CHECK(is_value(sizes.back() % ratio, 0), "self.size(-1) must be divisible by ", ratio,
                  " to view ", self.scalar_type(), " as ", dtype,
                  " (different element sizes), but got ", sizes.back());
    }
    sizes.back() = shrinks ? sizes.back() * ratio : sizes.back() / ratio;
    offset = shrinks ? offset * ratio : offset / ratio;
  }
  ResultMeta result = view_of(self, std::move(sizes), std::move(strides), std::move(offset));
  result.dtype = dtype;
  ctx.add_result(std::move(result));
}

void permute(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Dims dims = as_ints(ctx.arg(1));
  const int64_t rank = self.dim();
  TORCH_CHECK(static_cast<int64_t>(dims.size()) == rank,
              "permute(sparse_coo): number of dimensions in the tensor input does not match the "
              "length of the desired ordering of dimensions i.e. input.dim() = ",
              rank, " is not equal to len(dims) = ", dims.size());
  const SizesRef sizes = self.sym_sizes();
  const SizesRef strides = self.sym_strides();
  std::bitset<64> seen;
  Sizes new_sizes;
  Sizes new_strides;
  for (const int64_t asked : dims) {
    const int64_t dim = c10::maybe_wrap_dim(asked, rank);
    TORCH_CHECK(!seen[dim], "permute(): duplicate dims are not allowed.");
    seen[dim] = true;
    new_sizes.push_back(sizes[dim]);
    new_strides.push_back(strides[dim]);
  }
  ctx.add_result(view_of(self, std::move(new_sizes), std::move(new_strides)));
}

void swap_dims(RuleContext& ctx, int64_t dim0, int64_t dim1) {
  const at::Tensor& self = ctx.tensor(0);
  Sizes sizes = sizes_of(self);
  Sizes strides = strides_of(self);
  if (dim0 != dim1) {
    std::swap(sizes[dim0], sizes[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides)));
}

void transpose(RuleContext& ctx) {
  const int64_t rank = ctx.tensor(0).dim();
  const int64_t dim0 = c10::maybe_wrap_dim(ctx.arg(1).toInt(), rank);
  swap_dims(ctx, dim0, c10::maybe_wrap_dim(ctx.arg(2).toInt(), rank));
}

void t(RuleContext& ctx) {
  const int64_t rank = ctx.tensor(0).dim();
  TORCH_CHECK(rank <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", rank, "D");
  swap_dims(ctx, 0, rank < 2 ? 0 : 1);
}

void expand(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  Sizes sizes = as_sizes(ctx.arg(1));
  const SizesRef old_sizes = self.sym_sizes();
  const SizesRef old_strides = self.sym_strides();
  TORCH_CHECK(sizes.size() >= old_sizes.size(), "expand(", self.toString(), "{", old_sizes,
              "}, size=", SizesRef(sizes), "): the number of sizes provided (", sizes.size(),
              ") must be greater or equal to the number of dimensions in the tensor (",
              old_sizes.size(), ")");
  Sizes strides(sizes.size(), 0);
  if (old_sizes.empty()) {  // every dimension is new: no stride to go by
    ctx.add_result(view_of(self, std::move(sizes), std::move(strides)));
    return;
  }
  const int64_t offset = static_cast<int64_t>(sizes.size() - old_sizes.size());
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    const int64_t at = i - offset;
    c10::SymInt size = at >= 0 ? old_sizes[at] : c10::SymInt(1);
    c10::SymInt stride = at >= 0 ? old_strides[at] : c10::SymInt(sizes[i + 1] * strides[i + 1]);
    if (is_value(sizes[i], -1)) {
      TORCH_CHECK(at >= 0, "The expanded size of the tensor (", sizes[i],
                  ") isn't allowed in a leading, non-existing dimension ", i);
      sizes[i] = size;
    }
    if (!equal(size, sizes[i])) {
      TORCH_CHECK(is_value(size, 1), "The expanded size of the tensor (", sizes[i],
                  ") must match the existing size (", size, ") at non-singleton dimension ", i,
                  ".  Target sizes: ", SizesRef(sizes), ".  Tensor sizes: ", old_sizes);
      stride = 0;
    }
    strides[i] = stride;
  }
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides)));
}

c10::SymInt or_else(const c10::IValue& v, const c10::SymInt& otherwise) {
  return v.isNone() ? otherwise : as_symint(v);
}

void slice(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.dim() != 0, "slice() cannot be applied to a 0-dim tensor.");
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  Sizes sizes = sizes_of(self);
  Sizes strides = strides_of(self);
  const c10::SymInt size = sizes[dim];
  const c10::SymInt step = as_symint(ctx.arg(4));
  TORCH_CHECK(step > 0, "slice step must be positive");
  c10::SymInt start = or_else(ctx.arg(2), 0);
  c10::SymInt end = or_else(ctx.arg(3), INT64_MAX);
  if (start < 0) start += size;
  if (start < 0) {
    start = 0;
  } else if (!is_value(start, 0) && start > size) {
    start = size;
  }
  if (is_value(end, INT64_MAX)) {
    end = size;
  } else {
    if (end < 0) end += size;
    if (end < start) {
      end = start;
    } else if (!equal(end, size) && end > size) {
      end = size;
    }
  }
  c10::SymInt offset = self.sym_storage_offset();
  if (!is_value(start, 0)) offset += start * strides[dim];
  const c10::SymInt length = end - start;
  sizes[dim] = is_value(step, 1) ? length : (length + step - 1) / step;
  if (!is_value(step, 1)) strides[dim] *= step;
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides), std::move(offset)));
}

void select(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK_INDEX(self.dim() != 0, "select() cannot be applied to a 0-dim tensor.");
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  Sizes sizes = sizes_of(self);
  Sizes strides = strides_of(self);
  c10::SymInt index = as_symint(ctx.arg(2));
  const c10::SymInt& size = sizes[dim];
  TORCH_CHECK_INDEX(size > index && (index >= 0 || index + size >= 0), "select(): index ", index,
                    " out of range for tensor of size ", self.sym_sizes(), " at dimension ", dim);
  if (index < 0) index += size;
  c10::SymInt offset = self.sym_storage_offset();
  if (!is_value(index, 0)) offset += index * strides[dim];
  sizes.erase(sizes.begin() + dim);
  strides.erase(strides.begin() + dim);
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides), std::move(offset)));
}

// aten.squeeze, .dim, .dims: drops the asked dimensions of size one.
void squeeze(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  std::bitset<64> asked;
  if (ctx.num_args() == 1) {
    asked.set();
  } else {
    for (const int64_t dim : as_ints(ctx.arg(1))) {
      const int64_t wrapped = c10::maybe_wrap_dim(dim, self.dim());
      TORCH_CHECK(!asked[wrapped], "dim ", wrapped, " appears multiple times in the list of dims");
      asked[wrapped] = true;
    }
  }
  const SizesRef old_sizes = self.sym_sizes();
  const SizesRef old_strides = self.sym_strides();
  Sizes sizes;
  Sizes strides;
  for (std::size_t i = 0; i < old_sizes.size(); ++i) {
    if (asked[i] && is_value(old_sizes[i], 1)) continue;
    sizes.push_back(old_sizes[i]);
    strides.push_back(old_strides[i]);
  }
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides)));
}

void unsqueeze(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim() + 1);
  Sizes sizes = sizes_of(self);
  Sizes strides = strides_of(self);
  const c10::SymInt stride = dim >= self.dim() ? c10::SymInt(1) : sizes[dim] * strides[dim];
  sizes.insert(sizes.begin() + dim, c10::SymInt(1));
  strides.insert(strides.begin() + dim, stride);
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides)));
}

void as_strided(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  Sizes sizes = as_sizes(ctx.arg(1));
  Sizes strides = as_sizes(ctx.arg(2));
  TORCH_CHECK(sizes.size() == strides.size(), "mismatch in length of strides and shape");
  ctx.add_result(view_of(self, std::move(sizes), std::move(strides),
                         or_else(ctx.arg(3), self.sym_storage_offset())));
}

constexpr NamedRule kRules[] = {
    {"alias", alias},           {"as_strided", as_strided},
    {"expand", expand},         {"permute", permute},
    {"select", select},         {"slice", slice},
    {"squeeze", squeeze},       {"t", t},
    {"transpose", transpose},   {"unsafe_view", unsafe_view},
    {"unsqueeze", unsqueeze},   {"view", view},
    {"view_dtype", view_dtype},
};

}  // namespace

std::span<const NamedRule> view_rules() { return kRules; }

}  // namespace triptych::normalize
