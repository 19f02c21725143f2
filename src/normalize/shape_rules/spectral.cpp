// Rules of Fourier transforms. Their CPU kernels batch over the dimensions that are not
// transformed, the outermost stride first, and leave the result laid out in that order.
#include <ATen/Context.h>

#include <algorithm>
#include <numeric>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

struct Signal {
  Sizes sizes, strides;
};

// By falling stride; dimensions of one stride keep their order.
void sort_by_stride(int64_t* first, int64_t* last, const Sizes& strides) {
  for (int64_t* next = first; next != last; ++next) {
    for (int64_t* at = next; at != first && strides[at[-1]] < strides[*at]; --at)
      std::swap(at[-1], *at);
  }
}

// One call of the library: the batch dimensions, then `dims`, dense in this order. ATen takes the
// batch dimensions out by std::partition, whose order shows where strides are equal.
Sizes batched_strides(const Signal& input, const Sizes& out_sizes, const Dims& dims) {
  Dims order(out_sizes.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t* const batch_end = std::partition(order.begin(), order.end(), [&](int64_t d) {
    return std::find(dims.begin(), dims.end(), d) == dims.end();
  });
  sort_by_stride(order.begin(), batch_end, input.strides);
  std::copy(dims.begin(), dims.end(), batch_end);
  Sizes strides(out_sizes.size());
  c10::SymInt dense = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    strides[*d] = dense;
    dense = dense * out_sizes[*d];
  }
  return strides;
}

Signal transformed(const Signal& input, Sizes out_sizes, const Dims& dims) {
  Sizes strides = at::globalContext().hasMKL() ? batched_strides(input, out_sizes, dims)
                                               : contiguous_strides(out_sizes);
  return {std::move(out_sizes), std::move(strides)};
}

Dims wrapped(const c10::IValue& dims, const at::Tensor& self) {
  Dims result = as_ints(dims);
  for (int64_t& d : result) d = c10::maybe_wrap_dim(d, self.dim());
  return result;
}

Signal complex_to_complex(const Signal& input, Dims dims) {
  sort_by_stride(dims.begin(), dims.end(), input.strides);
  return transformed(input, input.sizes, dims);
}

void add(RuleContext& ctx, Signal signal, at::ScalarType dtype) {
  ResultMeta result;
  result.sizes = std::move(signal.sizes);
  result.strides = std::move(signal.strides);
  result.dtype = dtype;
  result.device = ctx.tensor(0).device();
  ctx.add_result(std::move(result));
}

// (self, dim, normalization, forward)
void fft_c2c(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.is_complex());
  const Dims dims = wrapped(ctx.arg(1), self);
  if (dims.empty()) {
    add(ctx, {sizes_of(self), strides_like(self, at::MemoryFormat::Preserve)}, self.scalar_type());
    return;
  }
  add(ctx, complex_to_complex({sizes_of(self), strides_of(self)}, dims), self.scalar_type());
}

// (self, dim, normalization, onesided): the last of `dim` is halved
void fft_r2c(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.is_floating_point());
  Dims dims = wrapped(ctx.arg(1), self);
  Sizes out = sizes_of(self);
  const Signal input{out, strides_of(self)};
  if (as_bool(ctx.arg(3))) out[dims.back()] = out[dims.back()] / 2 + 1;
  sort_by_stride(dims.begin(), dims.end() - 1, input.strides);
  add(ctx, transformed(input, std::move(out), dims), c10::toComplexType(self.scalar_type()));
}

// (self, dim, normalization, last_dim_size): all but the last of `dim` first, complex
void fft_c2r(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.is_complex());
  Dims dims = wrapped(ctx.arg(1), self);
  const int64_t last = dims.back();
  dims.pop_back();
  Signal input{sizes_of(self), strides_of(self)};
  if (!dims.empty()) input = complex_to_complex(input, dims);
  Sizes out = input.sizes;
  out[last] = as_symint(ctx.arg(3));
  add(ctx, transformed(input, std::move(out), {last}), c10::toRealValueType(self.scalar_type()));
}

constexpr NamedRule kRules[] = {
    {"fft_c2c", fft_c2c},
    {"fft_c2r", fft_c2r},
    {"fft_r2c", fft_r2c},
};

}  // namespace

std::span<const NamedRule> spectral_rules() { return kRules; }

}  // namespace triptych::normalize
