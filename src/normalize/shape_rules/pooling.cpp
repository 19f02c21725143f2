// Rules of pooling and of windows.
#include <sstream>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

struct Windows {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

Dims one_per_dim(const c10::IValue& v, std::size_t dims, const Dims& otherwise) {
  Dims out = as_ints(v);
  if (out.empty()) return otherwise;
  if (out.size() == 1) out.assign(dims, int64_t{out[0]});
  return out;
}

Windows windows(const RuleContext& ctx, std::size_t dims) {
  Windows w;
  w.kernel = one_per_dim(named(ctx, "kernel_size"), dims, {});
  TORCH_CHECK(w.kernel.size() == dims, short_name(ctx),
              ": kernel_size must either be a single int, ", "or a tuple of ", dims, " ints");
  w.stride = one_per_dim(named(ctx, "stride"), dims, w.kernel);
  w.padding = one_per_dim(named(ctx, "padding"), dims, Dims(dims, 0));
  w.dilation = one_per_dim(named(ctx, "dilation"), dims, Dims(dims, 1));
  w.ceil_mode = as_bool(named(ctx, "ceil_mode"));
  return w;
}

c10::SymInt floor_div(const c10::SymInt& a, int64_t b) {
  if (!a.is_heap_allocated()) {
    const int64_t value = a.as_int_unchecked();
    const int64_t quotient = value / b;
    return value % b != 0 && (value < 0) != (b < 0) ? quotient - 1 : quotient;
  }
  return a / b;
}

// The number of windows along one dimension; the last one must start inside the input or its
// padding.
c10::SymInt window_count(const c10::SymInt& size, const Windows& w, std::size_t i) {
  TORCH_CHECK(w.stride[i] != 0, "stride should not be zero");
  TORCH_CHECK(w.padding[i] >= 0, "pad must be non-negative, but got pad: ", w.padding[i]);
  TORCH_CHECK(w.padding[i] <= ((w.kernel[i] - 1) * w.dilation[i] + 1) / 2,
              "pad should be at most half of effective kernel size, but got pad=", w.padding[i],
              ", kernel_size=", w.kernel[i], " and dilation=", w.dilation[i]);
  const int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
  const c10::SymInt span = size + (2 * w.padding[i] - reach + (w.ceil_mode ? w.stride[i] - 1 : 0));
  c10::SymInt count = floor_div(span, w.stride[i]) + 1;
  if (w.ceil_mode && (count - 1) * w.stride[i] >= size + w.padding[i]) count = count - 1;
  return count;
}

std::string by(SizesRef sizes) {
  std::ostringstream out;
  for (std::size_t i = 0; i < sizes.size(); ++i) out << (i ? "x" : "") << sizes[i];
  return out.str();
}

Sizes pooled_sizes(const RuleContext& ctx, std::size_t dims) {
  const at::Tensor& self = ctx.tensor(0);
  const Windows w = windows(ctx, dims);
  TORCH_CHECK(
      self.dim() == static_cast<int64_t>(dims) + 1 || self.dim() == static_cast<int64_t>(dims) + 2,
      short_name(ctx), "(): Expected ", dims + 1, "D or ", dims + 2,
      "D (batch mode) tensor, but got: ", self.sym_sizes());
  Sizes sizes = sizes_of(self);
  const std::size_t first = sizes.size() - dims;
  bool fits = true;
  for (std::size_t i = 0; i < dims; ++i) {
    sizes[first + i] = window_count(sizes[first + i], w, i);
    fits = fits && sizes[first + i] >= 1;
  }
  TORCH_CHECK(fits, "Given input size: (", by(self.sym_sizes().slice(first - 1)),
              "). Calculated output size: (", by(SizesRef(sizes).slice(first - 1)),
              "). Output size is too small");
  return sizes;
}

// Batched images follow the input's memory format; of volumes, only those of max_pool3d do.
void add_pooled(RuleContext& ctx, Sizes sizes, at::ScalarType dtype, std::size_t dims,
                bool volumes_follow = false) {
  const at::Tensor& self = ctx.tensor(0);
  const bool follows =
      (dims == 2 || (dims == 3 && volumes_follow)) && self.dim() == static_cast<int64_t>(dims) + 2;
  ctx.add_result(
      fresh_in_format(std::move(sizes), dtype, self.device(),
                      follows ? self.suggest_memory_format() : at::MemoryFormat::Contiguous));
}

template <std::size_t kDims>
void avg_pool(RuleContext& ctx) {
  add_pooled(ctx, pooled_sizes(ctx, kDims), ctx.tensor(0).scalar_type(), kDims);
}

template <std::size_t kDims>
void max_pool(RuleContext& ctx) {
  const Sizes sizes = pooled_sizes(ctx, kDims);
  add_pooled(ctx, sizes, ctx.tensor(0).scalar_type(), kDims, true);
  add_pooled(ctx, sizes, at::kLong, kDims, true);
}

Sizes adaptive_sizes(const RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  Sizes asked = as_sizes(ctx.arg(1));
  Sizes sizes = sizes_of(self);
  const std::size_t dims = asked.size();
  TORCH_CHECK(sizes.size() == dims + 1 || sizes.size() == dims + 2, short_name(ctx),
              "(): Expected ", dims + 1, "D or ", dims + 2, "D tensor, but got ", self.sym_sizes());
  for (std::size_t i = 0; i < dims; ++i) sizes[sizes.size() - dims + i] = asked[i];
  return sizes;
}

void adaptive_avg_pool(RuleContext& ctx) {
  add_pooled(ctx, adaptive_sizes(ctx), ctx.tensor(0).scalar_type(), as_sizes(ctx.arg(1)).size());
}

void adaptive_max_pool(RuleContext& ctx) {
  const Sizes sizes = adaptive_sizes(ctx);
  const std::size_t dims = as_sizes(ctx.arg(1)).size();
  add_pooled(ctx, sizes, ctx.tensor(0).scalar_type(), dims);
  add_pooled(ctx, sizes, at::kLong, dims);
}

// The gradient of a pooled input: (grad_output, self, ...).
void pool_backward(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(1);
  ctx.add_result(fresh_in_format(
      sizes_of(self), self.scalar_type(), self.device(),
      self.dim() == 4 ? self.suggest_memory_format() : at::MemoryFormat::Contiguous));
}

// aten.max_unpool2d, max_unpool3d, fractional pools: the last sizes are given.
void unpool(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes asked = as_sizes(named(ctx, "output_size"));
  Sizes sizes = sizes_of(self);
  for (std::size_t i = 0; i < asked.size(); ++i) sizes[sizes.size() - asked.size() + i] = asked[i];
  const bool images = self.dim() == 4 && asked.size() == 2;
  ctx.add_result(
      fresh_in_format(std::move(sizes), self.scalar_type(), self.device(),
                      images ? self.suggest_memory_format() : at::MemoryFormat::Contiguous));
}

void fractional_max_pool(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes sizes = [&] {
    const Sizes asked = as_sizes(named(ctx, "output_size"));
    Sizes out = sizes_of(self);
    for (std::size_t i = 0; i < asked.size(); ++i) out[out.size() - asked.size() + i] = asked[i];
    return out;
  }();
  ctx.add_result(fresh(sizes, self.scalar_type(), self.device()));
  ctx.add_result(fresh(sizes, at::kLong, self.device()));
}

// aten.im2col: columns of every window.
void im2col(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Windows w = windows(ctx, 2);
  const bool batched = self.dim() == 4;
  TORCH_CHECK(batched || self.dim() == 3,
              "Expected 3D or 4D (batch mode) tensor with possibly 0 "
              "batch size and other non-zero dimensions for input, but got: ",
              self.sym_sizes());
  const int64_t first = batched ? 1 : 0;
  c10::SymInt count = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    count *=
        floor_div(self.sym_size(first + 1 + static_cast<int64_t>(i)) + 2 * w.padding[i] - reach,
                  w.stride[i]) +
        1;
  }
  Sizes sizes;
  if (batched) sizes.push_back(self.sym_size(0));
  sizes.push_back(self.sym_size(first) * (w.kernel[0] * w.kernel[1]));
  sizes.push_back(count);
  ctx.add_result(fresh_like(std::move(sizes), self));
}

// aten.col2im: the image that the columns overlap into.
void col2im(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes image = as_sizes(ctx.arg(1));
  const Dims kernel = as_ints(ctx.arg(2));
  const bool batched = self.dim() == 3;
  Sizes sizes;
  if (batched) sizes.push_back(self.sym_size(0));
  sizes.push_back(self.sym_size(batched ? 1 : 0) / (kernel[0] * kernel[1]));
  sizes.append(image.begin(), image.end());
  ctx.add_result(fresh_like(std::move(sizes), self));
}

constexpr NamedRule kRules[] = {
    {"adaptive_avg_pool", adaptive_avg_pool},
    {"adaptive_max_pool", adaptive_max_pool},
    {"avg_pool1d", avg_pool<1>},
    {"avg_pool2d", avg_pool<2>},
    {"avg_pool3d", avg_pool<3>},
    {"col2im", col2im},
    {"fractional_max_pool", fractional_max_pool},
    {"im2col", im2col},
    {"max_pool2d", max_pool<2>},
    {"max_pool3d", max_pool<3>},
    {"pool_backward", pool_backward},
    {"unpool", unpool},
};

}  // namespace

std::span<const NamedRule> pooling_rules() { return kRules; }

}  // namespace triptych::normalize
