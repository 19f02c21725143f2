// Rules of sorting and searching.
#include <c10/core/WrapDimMinimal.h>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

// Values and int64 indices, laid out as the input where it is dense.
void sort(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  c10::maybe_wrap_dim(named(ctx, "dim").toInt(), self.dim());
  ResultMeta values = fresh_like(sizes_of(self), self);
  values.strides = is_non_overlapping_and_dense(self)
                       ? strides_of(self)
                       : dense_strides_like(self.sym_sizes(), self.sym_strides());
  ResultMeta indices = values;
  indices.dtype = at::kLong;
  ctx.add_result(std::move(values));
  ctx.add_result(std::move(indices));
}

void argsort(RuleContext& ctx) {
  sort(ctx);
  ctx.results().erase(ctx.results().begin());
}

void topk(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const c10::SymInt k = as_symint(ctx.arg(1));
  const int64_t dim = c10::maybe_wrap_dim(ctx.arg(2).toInt(), self.dim());
  TORCH_CHECK(k >= 0 && k <= (self.dim() > 0 ? self.sym_size(dim) : c10::SymInt(1)),
              "selected index k out of range");
  Sizes sizes = sizes_of(self);
  if (!sizes.empty()) sizes[dim] = k;
  ctx.add_result(fresh(sizes, self.scalar_type(), self.device()));
  ctx.add_result(fresh(std::move(sizes), at::kLong, self.device()));
}

// searchsorted, bucketize: one index per searched value.
void search(RuleContext& ctx) {
  const bool buckets = short_name(ctx) == "bucketize";
  const std::size_t values = buckets ? 0 : 1;
  const at::ScalarType dtype = as_bool(named(ctx, "out_int32")) ? at::kInt : at::kLong;
  const at::Tensor& boundaries = ctx.tensor(buckets ? 1 : 0);
  Sizes sizes = ctx.has_tensor(values) ? sizes_of(ctx.tensor(values)) : Sizes();
  ctx.add_result(fresh(std::move(sizes), dtype, boundaries.device()));
}

constexpr NamedRule kRules[] = {
    {"argsort", argsort},
    {"search", search},
    {"sort", sort},
    {"topk", topk},
};

}  // namespace

std::span<const NamedRule> sort_rules() { return kRules; }

}  // namespace triptych::normalize
