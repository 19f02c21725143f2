// Rules of softmax and of the normalizations with their statistics.
#include <c10/core/WrapDimMinimal.h>

#include <ATen/OpMathType.h>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

// _softmax and _log_softmax: contiguous; half_to_float gives float32.
void softmax(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  c10::maybe_wrap_dim(ctx.arg(1).toInt(), self.dim());
  const bool to_float = ctx.arg(2).toBool();
  ctx.add_result(fresh(sizes_of(self), to_float ? at::kFloat : self.scalar_type(), self.device()));
}

// (grad_output, output, dim, input_dtype)
void softmax_backward(RuleContext& ctx) {
  const at::Tensor& grad = ctx.tensor(0);
  ctx.add_result(fresh(sizes_of(grad), ctx.arg(3).toScalarType(), grad.device()));
}

// Mean and rstd of half inputs are in float32 where the parameters are.
at::ScalarType statistics_dtype(const at::Tensor& input, const at::Tensor* weight) {
  const at::ScalarType dtype = input.scalar_type();
  if ((dtype == at::kBFloat16 || dtype == at::kHalf) && weight != nullptr) {
    return weight->scalar_type();
  }
  return dtype;
}

void check_normalized_shape(const at::Tensor& input, const Sizes& shape, const at::Tensor* weight,
                            const at::Tensor* bias) {
  TORCH_CHECK(!shape.empty(),
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
              "one element, but got normalized_shape = ",
              SizesRef(shape));
  TORCH_CHECK(weight == nullptr || equal(weight->sym_sizes(), shape),
              "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
              weight ? weight->sym_sizes() : SizesRef(),
              " and normalized_shape = ", SizesRef(shape));
  TORCH_CHECK(bias == nullptr || equal(bias->sym_sizes(), shape),
              "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
              bias ? bias->sym_sizes() : SizesRef(), " and normalized_shape = ", SizesRef(shape));
  const SizesRef sizes = input.sym_sizes();
  const bool fits =
      sizes.size() >= shape.size() && equal(sizes.slice(sizes.size() - shape.size()), shape);
  if (fits) return;
  std::ostringstream expected;
  for (const c10::SymInt& size : shape) expected << ", " << size;
  TORCH_CHECK(false, "Given normalized_shape=", SizesRef(shape), ", expected input with shape [*",
              expected.str(), "], but got input of size", sizes);
}

const at::Tensor* optional_tensor(const RuleContext& ctx, std::size_t i) {
  return ctx.has_tensor(i) ? &ctx.tensor(i) : nullptr;
}

// (input, normalized_shape, weight, bias, eps) -> out, mean, rstd
void native_layer_norm(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const Sizes shape = as_sizes(ctx.arg(1));
  const at::Tensor* weight = optional_tensor(ctx, 2);
  check_normalized_shape(input, shape, weight, optional_tensor(ctx, 3));
  ctx.add_result(fresh_like(sizes_of(input), input));
  Sizes rows = sizes_of(input);
  for (std::size_t i = rows.size() - shape.size(); i < rows.size(); ++i) rows[i] = 1;
  const at::ScalarType dtype = statistics_dtype(input, weight);
  ctx.add_result(fresh(rows, dtype, input.device()));
  ctx.add_result(fresh(std::move(rows), dtype, input.device()));
}

void add_masked(RuleContext& ctx, bool wanted, const at::Tensor* like) {
  ctx.add_result(wanted && like ? fresh_like(sizes_of(*like), *like) : undefined_result());
}

// (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
void native_layer_norm_backward(RuleContext& ctx) {
  const c10::List<bool> mask = ctx.arg(7).toBoolList();
  add_masked(ctx, mask.get(0), &ctx.tensor(1));
  add_masked(ctx, mask.get(1), optional_tensor(ctx, 5));
  add_masked(ctx, mask.get(2), optional_tensor(ctx, 6));
}

// (input, weight, bias, N, C, HxW, group, eps) -> out, mean, rstd of [N, group]
void native_group_norm(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const at::Tensor* weight = optional_tensor(ctx, 1);
  const c10::SymInt channels = as_symint(ctx.arg(4));
  const int64_t groups = ctx.arg(6).toInt();
  TORCH_CHECK_NOT_IMPLEMENTED(input.is_floating_point(),
                              "\"GroupNormKernelImpl\" not implemented for '", input.scalar_type(),
                              "'");
  TORCH_CHECK(groups > 0, "Expected num groups to be greater than 0, got ", groups);
  TORCH_CHECK(is_value(channels % groups, 0),
              "Expected number of channels in input to be divisible by num_groups, but got input "
              "of shape ",
              input.sym_sizes(), " and num_groups=", groups);
  TORCH_CHECK(weight == nullptr || (weight->dim() == 1 && equal(weight->sym_numel(), channels)),
              "Expected weight to be a vector of size equal to the number of channels in input, "
              "but got weight of shape ",
              weight ? weight->sym_sizes() : SizesRef(), " and input of shape ", input.sym_sizes());
  ctx.add_result(fresh_in_format(sizes_of(input), input.scalar_type(), input.device(),
                                 input.suggest_memory_format()));
  const at::ScalarType dtype = statistics_dtype(input, weight);
  const Sizes groups_shape{as_symint(ctx.arg(3)), groups};
  ctx.add_result(fresh(groups_shape, dtype, input.device()));
  ctx.add_result(fresh(groups_shape, dtype, input.device()));
}

// (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
void native_group_norm_backward(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(1);
  const c10::List<bool> mask = ctx.arg(9).toBoolList();
  const at::Tensor* weight = optional_tensor(ctx, 4);
  if (mask.get(0)) {
    ctx.add_result(fresh_in_format(sizes_of(input), input.scalar_type(), input.device(),
                                   input.suggest_memory_format()));
  } else {
    ctx.add_result(undefined_result());
  }
  for (const int output : {1, 2}) add_masked(ctx, mask.get(output), weight);
}

at::ScalarType batch_statistics_dtype(const at::Tensor& input, const at::Tensor* parameter) {
  return statistics_dtype(input, parameter);
}

// Batch norm: out, and the saved statistics of [C], which are empty in inference.
void batch_norm(RuleContext& ctx, bool training, std::size_t running_mean, int64_t saved_extra) {
  const at::Tensor& input = ctx.tensor(0);
  const at::Tensor* weight = optional_tensor(ctx, 1);
  const at::Tensor* mean = running_mean ? optional_tensor(ctx, running_mean) : nullptr;
  const c10::SymInt channels = input.sym_size(1);
  const auto check_channels = [&](const at::Tensor* t, const char* name) {
    TORCH_CHECK(t == nullptr || equal(t->sym_numel(), channels), name, " should contain ", channels,
                " elements not ", t ? t->sym_numel() : c10::SymInt(0));
  };
  check_channels(mean, "running_mean");
  check_channels(weight, "weight");
  const at::MemoryFormat format = input.suggest_memory_format();
  ctx.add_result(fresh_in_format(sizes_of(input), input.scalar_type(), input.device(), format));
  const at::ScalarType dtype = batch_statistics_dtype(input, weight ? weight : mean);
  const Sizes saved = training ? Sizes{channels} : Sizes{0};
  ctx.add_result(fresh(saved, dtype, input.device()));
  ctx.add_result(fresh(saved, dtype, input.device()));
  if (saved_extra) ctx.add_result(fresh({0}, at::kByte, input.device()));
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
void native_batch_norm(RuleContext& ctx) { batch_norm(ctx, ctx.arg(5).toBool(), 3, 0); }

// (input, weight, bias, training, momentum, eps)
void batch_norm_no_stats(RuleContext& ctx) { batch_norm(ctx, ctx.arg(3).toBool(), 0, 0); }

// (input, weight, bias, running_mean, running_var, momentum, eps)
void batch_norm_no_training(RuleContext& ctx) { batch_norm(ctx, false, 3, 0); }

void add_statistics(RuleContext& ctx) {
  for (const std::size_t i : {3, 4}) {
    ctx.add_result(fresh_like(sizes_of(ctx.tensor(i)), ctx.tensor(i)));
  }
}

// _native_batch_norm_legit_functional: the new running statistics follow.
void batch_norm_functional(RuleContext& ctx) {
  batch_norm(ctx, ctx.arg(5).toBool(), 3, 0);
  add_statistics(ctx);
}

// (input, weight, bias, running_mean, running_var, momentum, eps): in training, with a reserve that
// the CPU leaves empty
void batch_norm_with_update(RuleContext& ctx) {
  batch_norm(ctx, true, 3, 1);
  add_statistics(ctx);
}

// (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask)
void native_batch_norm_backward(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(1);
  const at::Tensor* weight = optional_tensor(ctx, 2);
  const c10::List<bool> mask = ctx.arg(9).toBoolList();
  if (mask.get(0)) {
    ctx.add_result(fresh_in_format(sizes_of(input), input.scalar_type(), input.device(),
                                   input.suggest_memory_format()));
  } else {
    ctx.add_result(undefined_result());
  }
  const at::ScalarType dtype = weight ? weight->scalar_type() : input.scalar_type();
  for (const int output : {1, 2}) {
    ctx.add_result(mask.get(output) ? fresh({input.sym_size(1)}, dtype, input.device())
                                    : undefined_result());
  }
}

// _fused_rms_norm: (input, normalized_shape, weight, eps) -> out, rstd
void fused_rms_norm(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const Sizes shape = as_sizes(ctx.arg(1));
  check_normalized_shape(input, shape, optional_tensor(ctx, 2), nullptr);
  ctx.add_result(fresh_like(sizes_of(input), input));
  Sizes rows = sizes_of(input);
  for (std::size_t i = rows.size() - shape.size(); i < rows.size(); ++i) rows[i] = 1;
  ctx.add_result(fresh(std::move(rows), at::toOpMathType(input.scalar_type()), input.device()));
}

constexpr NamedRule kRules[] = {
    {"batch_norm_functional", batch_norm_functional},
    {"batch_norm_no_stats", batch_norm_no_stats},
    {"batch_norm_no_training", batch_norm_no_training},
    {"batch_norm_with_update", batch_norm_with_update},
    {"fused_rms_norm", fused_rms_norm},
    {"native_batch_norm", native_batch_norm},
    {"native_batch_norm_backward", native_batch_norm_backward},
    {"native_group_norm", native_group_norm},
    {"native_group_norm_backward", native_group_norm_backward},
    {"native_layer_norm", native_layer_norm},
    {"native_layer_norm_backward", native_layer_norm_backward},
    {"softmax", softmax},
    {"softmax_backward", softmax_backward},
};

}  // namespace

std::span<const NamedRule> norm_rules() { return kRules; }

}  // namespace triptych::normalize
