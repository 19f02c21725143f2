// Rules of convolutions, with the memory format that the CPU kernels give.
#include <ATen/Parallel.h>

#include <sstream>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

struct Convolution {
  const at::Tensor& input;
  const at::Tensor& weight;
  Sizes stride, padding, dilation, output_padding;
  bool transposed;
  c10::SymInt groups;
};

Sizes one_per_dim(const c10::IValue& v, int64_t dims, const char* name) {
  Sizes out = as_sizes(v);
  if (out.size() == 1) {
    const c10::SymInt value = out[0];
    out.assign(dims, value);
  }
  TORCH_CHECK(static_cast<int64_t>(out.size()) == dims, "expected ", name,
              " to be a single integer value or a list of ", dims,
              " values to match the convolution dimensions, but got ", name, "=", SizesRef(out));
  return out;
}

void check_channels(const Convolution& c) {
  const SizesRef weight = c.weight.sym_sizes();
  const SizesRef input = c.input.sym_sizes();
  const c10::SymInt expected = c.transposed ? weight[0] : weight[1] * c.groups;
  TORCH_CHECK(c.groups > 0, "expected groups to be greater than 0, but got groups=", c.groups);
  TORCH_CHECK(input.size() == weight.size(), "Expected ", weight.size(), "-dimensional input for ",
              weight.size(), "-dimensional weight ", weight, ", but got ", input.size(),
              "-dimensional input of size ", input, " instead");
  TORCH_CHECK(equal(input[1], expected), "Given ",
              c.transposed ? "transposed=" : "groups=", c.transposed ? c10::SymInt(1) : c.groups,
              ", weight of size ", weight, ", expected input", input, " to have ", expected,
              " channels, but got ", input[1], " channels instead");
}

void check_dtypes(const Convolution& c, const at::Tensor* bias) {
  TORCH_CHECK(c.input.scalar_type() == c.weight.scalar_type(), "Input type (", c.input.toString(),
              ") and weight type (", c.weight.toString(), ") should be the same");
  TORCH_CHECK(!bias || c.input.scalar_type() == bias->scalar_type(), "Input type (",
              c.input.toString(), ") and bias type (", bias ? bias->toString() : "",
              ") should be the same");
  const c10::SymInt channels =
      c.transposed ? c.weight.sym_size(1) * c.groups : c.weight.sym_size(0);
  TORCH_CHECK(!bias || (bias->dim() == 1 && equal(bias->sym_size(0), channels)), "Given ",
              c.transposed ? "transposed=" : "weight of size ", c.weight.sym_sizes(),
              ", expected bias to be 1-dimensional with ", channels,
              " elements, but got bias of size ", bias ? bias->sym_sizes() : SizesRef(),
              " instead");
}

std::string by(const Sizes& sizes) {
  std::ostringstream out;
  for (std::size_t i = 0; i < sizes.size(); ++i) out << (i ? " x " : "") << sizes[i];
  return out.str();
}

// floor((input + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, or its inverse.
Sizes output_sizes(const Convolution& c) {
  const SizesRef input = c.input.sym_sizes();
  const SizesRef weight = c.weight.sym_sizes();
  Sizes out{input[0], c.transposed ? c10::SymInt(weight[1] * c.groups) : weight[0]};
  Sizes padded;
  Sizes kernel;
  bool fits = true;
  for (std::size_t d = 2; d < input.size(); ++d) {
    const std::size_t i = d - 2;
    const c10::SymInt reach = c.dilation[i] * (weight[d] - 1) + 1;
    TORCH_CHECK(c.stride[i] > 0, "non-positive stride is not supported");
    if (c.transposed) {
      out.push_back((input[d] - 1) * c.stride[i] - c.padding[i] * 2 + reach + c.output_padding[i]);
      continue;
    }
    padded.push_back(input[d] + c.padding[i] * 2);
    kernel.push_back(reach);
    fits = fits && padded.back() >= reach;
    if (fits) out.push_back((padded.back() - reach) / c.stride[i] + 1);
  }
  TORCH_CHECK(fits, "Calculated padded input size per channel: (", by(padded), "). Kernel size: (",
              by(kernel), "). Kernel size can't be greater than actual input size");
  return out;
}

bool all_equal(const Sizes& sizes, int64_t value) {
  for (const c10::SymInt& size : sizes) {
    if (!is_value(size, value)) return false;
  }
  return true;
}

// Whether the CPU takes oneDNN's kernel (float32 where it is faster, bfloat16 and half always,
// float64 never). Without it, volumes come back contiguous.
bool uses_onednn(const Convolution& c) {
  if (c.input.scalar_type() == at::kDouble) return false;
  for (std::size_t i = 0; c.transposed && i < c.stride.size(); ++i) {
    if (c.output_padding[i] >= c.stride[i]) return false;
  }
  if (c.input.scalar_type() != at::kFloat) return true;
  const SizesRef input = c.input.sym_sizes();
  const SizesRef weight = c.weight.sym_sizes();
  const std::size_t n = weight.size();
  const bool simple = all_equal(c.stride, 1) && all_equal(c.dilation, 1) && input[0] < 16 &&
                      is_value(weight[n - 1], 1) && is_value(weight[n - 2], 1) &&
                      at::get_num_threads() == 1;
  const bool large = c.groups > 1 || (weight[n - 1] > 3 && weight[n - 2] > 3) || input[0] > 1 ||
                     product(input.slice(0, 4)) > 20480;
  return !simple && large;
}

// Channels last where input or weight looks so.
at::MemoryFormat output_format(const Convolution& c) {
  at::MemoryFormat format = c.input.suggest_memory_format();
  if (format == at::MemoryFormat::Contiguous) format = c.weight.suggest_memory_format();
  if (format == at::MemoryFormat::ChannelsLast3d && !uses_onednn(c)) {
    return at::MemoryFormat::Contiguous;
  }
  return format;
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
void convolution(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const at::Tensor& weight = ctx.tensor(1);
  const int64_t dims = weight.dim() - 2;
  TORCH_CHECK(dims > 0, "weight should have at least three dimensions");
  const Convolution c{input,
                      weight,
                      one_per_dim(ctx.arg(3), dims, "stride"),
                      one_per_dim(ctx.arg(4), dims, "padding"),
                      one_per_dim(ctx.arg(5), dims, "dilation"),
                      one_per_dim(ctx.arg(7), dims, "output_padding"),
                      ctx.arg(6).toBool(),
                      as_symint(ctx.arg(8))};
  check_channels(c);
  check_dtypes(c, ctx.has_tensor(2) ? &ctx.tensor(2) : nullptr);
  ctx.add_result(
      fresh_in_format(output_sizes(c), input.scalar_type(), input.device(), output_format(c)));
}

// (grad_output, input, weight, bias_sizes, ..., output_mask)
void convolution_backward(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(1);
  const at::Tensor& weight = ctx.tensor(2);
  const c10::List<bool> mask = ctx.arg(10).toBoolList();
  const Convolution c{input, weight, {}, {}, {}, {}, ctx.arg(7).toBool(), 1};
  const at::MemoryFormat format = output_format(c);
  const auto add = [&](int i, const at::Tensor& like) {
    ctx.add_result(mask.get(i)
                       ? fresh_in_format(sizes_of(like), like.scalar_type(), like.device(), format)
                       : undefined_result());
  };
  add(0, input);
  add(1, weight);
  const c10::SymInt channels = ctx.tensor(0).sym_size(1);
  ctx.add_result(mask.get(2) ? fresh_like({channels}, ctx.tensor(0)) : undefined_result());
}

constexpr NamedRule kRules[] = {
    {"convolution", convolution},
    {"convolution_backward", convolution_backward},
};

}  // namespace

std::span<const NamedRule> convolution_rules() { return kRules; }

}  // namespace triptych::normalize
