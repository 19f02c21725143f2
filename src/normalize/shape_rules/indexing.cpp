// Rules of gathers and scatters.
#include <c10/core/WrapDimMinimal.h>

#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

// (weight, indices, ...) -> indices' sizes and weight's last ones
void embedding(RuleContext& ctx) {
  const at::Tensor& weight = ctx.tensor(0);
  const at::Tensor& indices = ctx.tensor(1);
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  const at::ScalarType dtype = indices.scalar_type();
  TORCH_CHECK(
      dtype == at::kLong || dtype == at::kInt,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
      "Long, Int; but got ",
      indices.toString(), " instead (while checking arguments for embedding)");
  Sizes sizes = sizes_of(indices);
  sizes.push_back(weight.sym_size(1));
  ctx.add_result(fresh_like(std::move(sizes), weight));
}

// (grad_output, indices, num_weights, ...)
void embedding_dense_backward(RuleContext& ctx) {
  const at::Tensor& grad = ctx.tensor(0);
  ctx.add_result(fresh_like({as_symint(ctx.arg(2)), grad.sym_sizes().back()}, grad));
}

void index_select(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::Tensor& index = ctx.tensor(2);
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  TORCH_CHECK_INDEX(index.dim() <= 1,
                    "index_select(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with type: ", index.scalar_type(), " and size: ", index.sym_sizes());
  TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
              "index_select(): Expected dtype int32 or int64 for index");
  Sizes sizes = sizes_of(self);
  if (!sizes.empty()) sizes[dim] = index.dim() == 0 ? c10::SymInt(1) : index.sym_size(0);
  ctx.add_result(fresh_like(std::move(sizes), self));
}

// (self, dim, index) -> the index's sizes
void gather(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::Tensor& index = ctx.tensor(2);
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt ||
                  is_value(index.sym_numel(), 0),
              "gather", "(): Expected dtype int32/int64 for index");
  const bool same_rank = std::max<int64_t>(self.dim(), 1) == std::max<int64_t>(index.dim(), 1);
  if (!is_value(index.sym_numel(), 0)) {
    TORCH_CHECK(same_rank, "Index tensor must have the same number of dimensions as input tensor");
    for (int64_t d = 0; d < self.dim() && d < index.dim(); ++d) {
      TORCH_CHECK(d == dim || index.sym_size(d) <= self.sym_size(d),
                  "Size does not match at dimension ", d, " expected index ", index.sym_sizes(),
                  " to be no larger than self ", self.sym_sizes(), " apart from dimension ", dim);
    }
  }
  ctx.add_result(fresh_like(sizes_of(index), self));
}

// scatter, scatter_add, index_add, masked_scatter...: a dense copy of self.
void scatter(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta result = fresh_like(sizes_of(self), self);
  result.strides = strides_like(self, at::MemoryFormat::Preserve);
  ctx.add_result(std::move(result));
}

// The structured scatters: contiguous.
void scatter_contiguous(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const c10::IValue& dim = named(ctx, "dim");
  if (!dim.isNone()) c10::maybe_wrap_dim(dim.toInt(), self.dim());
  ctx.add_result(fresh_like(sizes_of(self), self));
}

// masked_scatter: the mask broadcasts with self; contiguous.
void masked_scatter(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ctx.add_result(fresh_like(broadcast(self.sym_sizes(), ctx.tensor(1).sym_sizes()), self));
}

// aten.take: the index's sizes.
void take(RuleContext& ctx) { ctx.add_result(fresh_like(sizes_of(ctx.tensor(1)), ctx.tensor(0))); }

// The flat diagonal of aten.diag_embed becomes a matrix in the two given dimensions.
void diag_embed(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const int64_t rank = self.dim() + 1;
  const int64_t offset = ctx.arg(1).toInt();
  const int64_t dim1 = c10::maybe_wrap_dim(ctx.arg(2).toInt(), rank);
  const int64_t dim2 = c10::maybe_wrap_dim(ctx.arg(3).toInt(), rank);
  TORCH_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", ctx.arg(2).toInt(), ", ",
              ctx.arg(3).toInt());
  const c10::SymInt side = self.sym_sizes().back() + (offset < 0 ? -offset : offset);
  Sizes sizes = sizes_of(self);
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(dim1, dim2), side);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), side);
  ctx.add_result(fresh_like(std::move(sizes), self));
}

// (weight, indices, offsets, ...) -> bags, offset2bag, bag_size, max_indices, sized as the CPU's
// kernels leave them: sums on the fast path skip offset2bag, sums without gradient skip bag_size.
void embedding_bag(RuleContext& ctx) {
  enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };
  const at::Tensor& weight = ctx.tensor(0);
  const at::Tensor& indices = ctx.tensor(1);
  const at::Tensor& offsets = ctx.tensor(2);
  const int64_t mode = named(ctx, "mode").toInt();
  const bool forward_only = short_name(ctx) == "_embedding_bag_forward_only";
  const bool last = named(ctx, "include_last_offset").toBool();
  const c10::SymInt bags = offsets.sym_size(0) - (last ? 1 : 0);
  const at::ScalarType dtype = weight.scalar_type();
  const bool small_float = dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
  const bool unit_scale = !ctx.has_tensor(6) || is_value(ctx.tensor(6).sym_stride(0), 1);
  const bool fast = small_float && is_value(weight.sym_stride(1), 1) && unit_scale &&
                    named(ctx, "padding_idx").toInt() < 0;
  const c10::SymInt counted = mode == kSum && forward_only ? offsets.sym_size(0) : bags;
  ctx.add_result(fresh_like({bags, weight.sym_size(1)}, weight));
  ctx.add_result(
      fresh_like({mode == kSum && fast ? c10::SymInt(0) : indices.sym_size(0)}, offsets));
  ctx.add_result(fresh_like({counted}, offsets));
  ctx.add_result(
      fresh_like(mode == kMax ? Sizes{bags, weight.sym_size(1)} : Sizes{counted}, offsets));
}

constexpr NamedRule kRules[] = {
    {"diag_embed", diag_embed},
    {"embedding", embedding},
    {"embedding_bag", embedding_bag},
    {"embedding_dense_backward", embedding_dense_backward},
    {"gather", gather},
    {"index_select", index_select},
    {"masked_scatter", masked_scatter},
    {"scatter", scatter},
    {"scatter_contiguous", scatter_contiguous},
    {"take", take},
};

}  // namespace

std::span<const NamedRule> indexing_rules() { return kRules; }

}  // namespace triptych::normalize
