// Rules of reductions: fresh contiguous results over the kept dimensions.
#include <bitset>

#include <ATen/WrapDimUtils.h>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

using DimMask = std::bitset<64>;

// All dimensions for an empty or missing list.
DimMask reduced_dims(const c10::IValue& dims, int64_t rank) {
  DimMask mask;
  const Dims list = as_ints(dims);
  for (const int64_t dim : list) {
    const int64_t wrapped = c10::maybe_wrap_dim(dim, rank);
    TORCH_CHECK(!mask[wrapped], "dim ", wrapped, " appears multiple times in the list of dims");
    mask[wrapped] = true;
  }
  if (list.empty()) mask.set();
  return mask;
}

Sizes reduced_sizes(SizesRef sizes, const DimMask& mask, bool keepdim) {
  Sizes out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!mask[i]) {
      out.push_back(sizes[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

Sizes reduced_sizes(const RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  return reduced_sizes(self.sym_sizes(), reduced_dims(named(ctx, "dim"), self.dim()),
                       as_bool(named(ctx, "keepdim")));
}

void add_reduced(RuleContext& ctx, at::ScalarType dtype) {
  ctx.add_result(fresh(reduced_sizes(ctx), dtype, ctx.tensor(0).device()));
}

at::ScalarType own_dtype(const RuleContext& ctx) { return ctx.tensor(0).scalar_type(); }

// Integers add up in int64 unless a dtype is asked for: sum, prod, nansum.
void reduce_sum(RuleContext& ctx) {
  const at::ScalarType own = own_dtype(ctx);
  const at::ScalarType wide = c10::isIntegralType(own, /*includeBool=*/true) ? at::kLong : own;
  add_reduced(ctx, dtype_or(named(ctx, "dtype"), wide));
}

void reduce_mean(RuleContext& ctx) {
  const at::ScalarType dtype = dtype_or(named(ctx, "dtype"), own_dtype(ctx));
  TORCH_CHECK(c10::isFloatingType(dtype) || c10::isComplexType(dtype),
              "mean(): could not infer output dtype. ",
              named(ctx, "dtype").isNone() ? "Input dtype" : "Optional dtype",
              " must be either a floating point or complex dtype. Got: ", dtype);
  add_reduced(ctx, dtype);
}

// The input's dtype: amax, amin, logsumexp of floats.
void reduce(RuleContext& ctx) { add_reduced(ctx, own_dtype(ctx)); }

void reduce_int_to_float(RuleContext& ctx) {
  const at::ScalarType own = own_dtype(ctx);
  add_reduced(ctx, c10::isIntegralType(own, true) ? default_dtype() : own);
}

// any, all: bool, but uint8 stays uint8.
void reduce_bool(RuleContext& ctx) {
  add_reduced(ctx, own_dtype(ctx) == at::kByte ? at::kByte : at::kBool);
}

void reduce_count(RuleContext& ctx) { add_reduced(ctx, at::kLong); }

void check_not_empty(const RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const c10::IValue& dim = named(ctx, "dim");
  if (dim.isNone() || (dim.isIntList() && as_ints(dim).empty())) {
    if (dim.isNone()) {
      TORCH_CHECK_INDEX(!is_value(self.sym_numel(), 0), short_name(ctx),
                        "(): Expected reduction dim to be specified for input.numel() == 0.");
    }
    TORCH_CHECK(!is_value(self.sym_numel(), 0), short_name(ctx),
                "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument.");
    return;
  }
  for (const int64_t d : as_ints(dim)) {
    const int64_t wrapped = c10::maybe_wrap_dim(d, self.dim());
    TORCH_CHECK_INDEX(self.dim() == 0 || !is_value(self.sym_size(wrapped), 0), short_name(ctx),
                      "(): Expected reduction dim ", wrapped, " to have non-zero size.");
  }
}

void reduce_extreme(RuleContext& ctx) {
  check_not_empty(ctx);
  reduce(ctx);
}

void reduce_index(RuleContext& ctx) {
  check_not_empty(ctx);
  reduce_count(ctx);
}

// Values and where they are: max.dim, min.dim, median.dim, mode, kthvalue.
void reduce_extreme_with_index(RuleContext& ctx) {
  check_not_empty(ctx);
  reduce(ctx);
  reduce_count(ctx);
}

// aminmax: both extremes.
void reduce_two(RuleContext& ctx) {
  reduce(ctx);
  reduce(ctx);
}

void check_floating(const RuleContext& ctx) {
  const at::ScalarType own = own_dtype(ctx);
  TORCH_CHECK(c10::isFloatingType(own) || c10::isComplexType(own), short_name(ctx),
              " only support floating point and complex dtypes");
}

// Complex inputs have real variances.
void reduce_var(RuleContext& ctx) {
  check_floating(ctx);
  add_reduced(ctx, c10::toRealValueType(own_dtype(ctx)));
}

void reduce_var_mean(RuleContext& ctx) {
  reduce_var(ctx);
  reduce(ctx);
}

// Norms are real; a dtype may be asked for.
void reduce_norm(RuleContext& ctx) {
  add_reduced(ctx, c10::toRealValueType(dtype_or(named(ctx, "dtype"), own_dtype(ctx))));
}

void accumulate(RuleContext& ctx, at::ScalarType dtype) {
  const at::Tensor& self = ctx.tensor(0);
  c10::maybe_wrap_dim(named(ctx, "dim").toInt(), self.dim());
  ctx.add_result(fresh(sizes_of(self), dtype, self.device()));
}

// cumsum, cumprod: integers accumulate in int64.
void cumulative_sum(RuleContext& ctx) {
  const at::ScalarType own = own_dtype(ctx);
  const at::ScalarType wide = c10::isIntegralType(own, true) ? at::kLong : own;
  accumulate(ctx, dtype_or(named(ctx, "dtype"), wide));
}

void cumulative(RuleContext& ctx) { accumulate(ctx, own_dtype(ctx)); }

void cumulative_extreme(RuleContext& ctx) {
  accumulate(ctx, own_dtype(ctx));
  accumulate(ctx, at::kLong);
}

// (self, bins, ...): one count per bin, whatever the sizes.
void histogram(RuleContext& ctx) {
  const int64_t bins = named(ctx, "bins").toInt();
  TORCH_CHECK(bins > 0, "bins must be > 0");
  ctx.add_result(fresh_like({bins}, ctx.tensor(0)));
}

constexpr NamedRule kRules[] = {
    {"cumulative", cumulative},
    {"cumulative_extreme", cumulative_extreme},
    {"cumulative_sum", cumulative_sum},
    {"histogram", histogram},
    {"reduce", reduce},
    {"reduce_bool", reduce_bool},
    {"reduce_count", reduce_count},
    {"reduce_extreme", reduce_extreme},
    {"reduce_extreme_with_index", reduce_extreme_with_index},
    {"reduce_index", reduce_index},
    {"reduce_int_to_float", reduce_int_to_float},
    {"reduce_mean", reduce_mean},
    {"reduce_norm", reduce_norm},
    {"reduce_sum", reduce_sum},
    {"reduce_two", reduce_two},
    {"reduce_var", reduce_var},
    {"reduce_var_mean", reduce_var_mean},
};

}  // namespace

std::span<const NamedRule> reduction_rules() { return kRules; }

}  // namespace triptych::normalize
