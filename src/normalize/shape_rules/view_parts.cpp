// Rules of views that cut a tensor up or look at its elements in another way.
#include <c10/core/WrapDimMinimal.h>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

// The part of `self` along `dim`; `fresh_storage` for the unsafe_* ops, whose schemas alias
// nothing.
void add_part(RuleContext& ctx, int64_t dim, const c10::SymInt& start, c10::SymInt length,
              bool fresh_storage) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta part;
  part.sizes = sizes_of(self);
  part.strides = strides_of(self);
  part.sizes[dim] = std::move(length);
  part.dtype = self.scalar_type();
  part.device = self.device();
  if (!fresh_storage) {
    part.alias_of = 0;
    part.storage_offset = self.sym_storage_offset();
    if (!is_value(start, 0)) part.storage_offset += start * part.strides[dim];
  }
  ctx.add_result(std::move(part));
}

void split_pieces(RuleContext& ctx, bool fresh_storage) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(2).toInt(), self.dim());
  const c10::SymInt size = self.sym_size(dim);
  const c10::SymInt piece = as_symint(ctx.arg(1));
  TORCH_CHECK(piece >= 0, "split expects split_size be non-negative, but got split_size=", piece);
  TORCH_CHECK(piece > 0 || is_value(size, 0),
              "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  // The number of pieces is the program's structure, so it is fixed here.
  const c10::SymInt symbolic_count =
      is_value(piece, 0) ? c10::SymInt(1) : (size + piece - 1) / piece;
  const int64_t count = std::max<int64_t>(1, symbolic_count.guard_int(__FILE__, __LINE__));
  for (int64_t i = 0; i < count; ++i) {
    const c10::SymInt start = piece * i;
    add_part(ctx, dim, start, i + 1 < count ? piece : c10::SymInt(size - start), fresh_storage);
  }
}

void split(RuleContext& ctx) { split_pieces(ctx, false); }
void unsafe_split(RuleContext& ctx) { split_pieces(ctx, true); }

void split_sized(RuleContext& ctx, bool fresh_storage) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(2).toInt(), self.dim());
  const Sizes pieces = as_sizes(ctx.arg(1));
  c10::SymInt start = 0;
  for (const c10::SymInt& piece : pieces) {
    TORCH_CHECK(piece >= 0,
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                "split_sizes=",
                SizesRef(pieces));
    add_part(ctx, dim, start, piece, fresh_storage);
    start += piece;
  }
  TORCH_CHECK(equal(start, self.sym_size(dim)),
              "split_with_sizes expects split_sizes to sum exactly to ", self.sym_size(dim),
              " (input tensor's size at dimension ", dim,
              "), but got split_sizes=", SizesRef(pieces));
}

void split_with_sizes(RuleContext& ctx) { split_sized(ctx, false); }
void unsafe_split_with_sizes(RuleContext& ctx) { split_sized(ctx, true); }

void unbind(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK_INDEX(self.dim() != 0, "Dimension specified as 0 but tensor has no dimensions");
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  const int64_t count = self.sym_size(dim).guard_int(__FILE__, __LINE__);
  for (int64_t i = 0; i < count; ++i) {
    add_part(ctx, dim, i, 1, false);
    ResultMeta& part = ctx.results().back();
    part.sizes.erase(part.sizes.begin() + dim);
    part.strides.erase(part.strides.begin() + dim);
  }
}

void diagonal(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const int64_t offset = ctx.arg(1).toInt();
  const int64_t dim1 = c10::maybe_wrap_dim(ctx.arg(2).toInt(), self.dim());
  const int64_t dim2 = c10::maybe_wrap_dim(ctx.arg(3).toInt(), self.dim());
  TORCH_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", ctx.arg(2).toInt(), ", ",
              ctx.arg(3).toInt());
  ResultMeta result;
  result.sizes = sizes_of(self);
  result.strides = strides_of(self);
  const c10::SymInt rows = result.sizes[dim1] - (offset < 0 ? -offset : 0);
  const c10::SymInt columns = result.sizes[dim2] - (offset > 0 ? offset : 0);
  c10::SymInt length = rows.min(columns);
  if (length < 0) length = 0;
  result.storage_offset = self.sym_storage_offset();
  if (!is_value(length, 0)) {
    result.storage_offset +=
        offset >= 0 ? result.strides[dim2] * offset : result.strides[dim1] * -offset;
  }
  const c10::SymInt stride = result.strides[dim1] + result.strides[dim2];
  for (const int64_t dim : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    result.sizes.erase(result.sizes.begin() + dim);
    result.strides.erase(result.strides.begin() + dim);
  }
  result.sizes.push_back(length);
  result.strides.push_back(stride);
  result.dtype = self.scalar_type();
  result.device = self.device();
  result.alias_of = 0;
  ctx.add_result(std::move(result));
}

ResultMeta whole(const at::Tensor& self) {
  ResultMeta result;
  result.sizes = sizes_of(self);
  result.strides = strides_of(self);
  result.storage_offset = self.sym_storage_offset();
  result.dtype = self.scalar_type();
  result.device = self.device();
  result.alias_of = 0;
  return result;
}

// aten.unfold: windows of `size` along a dimension, every `step`.
void unfold(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim(), /*wrap_scalar=*/true);
  const int64_t size = ctx.arg(2).toInt();
  const int64_t step = ctx.arg(3).toInt();
  const c10::SymInt length = self.dim() == 0 ? c10::SymInt(1) : self.sym_size(dim);
  TORCH_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  TORCH_CHECK(length >= size, "maximum size for tensor at dimension ", dim, " is ", length,
              " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  ResultMeta result = whole(self);
  if (self.dim() == 0) {
    result.sizes = {size};
    result.strides = {1};
  } else {
    result.sizes.push_back(size);
    result.strides.push_back(result.strides[dim]);
    result.sizes[dim] = (length - size) / step + 1;
    result.strides[dim] *= step;
  }
  ctx.add_result(std::move(result));
}

void view_as_real(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.is_complex(), "view_as_real is only supported for complex tensors");
  ResultMeta result = whole(self);
  for (c10::SymInt& stride : result.strides) stride *= 2;
  result.sizes.push_back(2);
  result.strides.push_back(1);
  result.storage_offset *= 2;
  result.dtype = c10::toRealValueType(self.scalar_type());
  ctx.add_result(std::move(result));
}

void view_as_complex(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::ScalarType dtype = self.scalar_type();
  TORCH_CHECK(dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf,
              "view_as_complex is only supported for half, float and double tensors, but got a "
              "tensor of scalar type: ",
              dtype);
  TORCH_CHECK(self.dim() != 0, "Input tensor must have one or more dimensions");
  ResultMeta result = whole(self);
  TORCH_CHECK(is_value(result.sizes.back(), 2), "Tensor must have a last dimension of size 2");
  TORCH_CHECK(is_value(result.strides.back(), 1),
              "Tensor must have a last dimension with stride 1");
  result.sizes.pop_back();
  result.strides.pop_back();
  for (c10::SymInt& stride : result.strides) stride = stride / 2;
  result.storage_offset = result.storage_offset / 2;
  result.dtype = c10::toComplexType(dtype);
  ctx.add_result(std::move(result));
}

// aten._reshape_alias: sizes and strides are given.
void reshape_alias(RuleContext& ctx) {
  ResultMeta result = whole(ctx.tensor(0));
  result.sizes = as_sizes(ctx.arg(1));
  result.strides = as_sizes(ctx.arg(2));
  ctx.add_result(std::move(result));
}

constexpr NamedRule kRules[] = {
    {"diagonal", diagonal},
    {"reshape_alias", reshape_alias},
    {"split", split},
    {"split_with_sizes", split_with_sizes},
    {"unbind", unbind},
    {"unfold", unfold},
    {"unsafe_split", unsafe_split},
    {"unsafe_split_with_sizes", unsafe_split_with_sizes},
    {"view_as_complex", view_as_complex},
    {"view_as_real", view_as_real},
};

}  // namespace

std::span<const NamedRule> view_part_rules() { return kRules; }

}  // namespace triptych::normalize
