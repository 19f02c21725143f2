// Rules of losses: one number, or one per element.
#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

enum Reduction : int64_t { kNone = 0 };

bool reduces(const RuleContext& ctx) { return named(ctx, "reduction").toInt() != kNone; }

// mse_loss, smooth_l1_loss, huber_loss, ...: elementwise, then maybe reduced.
void elementwise_loss(RuleContext& ctx) {
  const Operands operands{&ctx.tensor(0), &ctx.tensor(1)};
  ResultMeta result = elementwise(operands, promoted(operands));
  if (reduces(ctx)) result = fresh({}, result.dtype, result.device);
  ctx.add_result(std::move(result));
}

// The same over all tensor arguments, of the dtype of one of them.
void loss_of(RuleContext& ctx, std::size_t dtype_from) {
  ResultMeta result = elementwise(tensor_operands(ctx), ctx.tensor(dtype_from).scalar_type());
  if (reduces(ctx)) result = fresh({}, result.dtype, result.device);
  ctx.add_result(std::move(result));
}

void weighted_loss(RuleContext& ctx) { loss_of(ctx, 0); }

// binary_cross_entropy_with_logits: eager writes into 1 - target.
void logits_loss(RuleContext& ctx) { loss_of(ctx, 1); }

// binary_cross_entropy: an empty_like of the input.
void like_loss(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta result = fresh_like({}, self);
  if (!reduces(ctx)) {
    result.sizes = sizes_of(self);
    result.strides = strides_like(self, at::MemoryFormat::Preserve);
  }
  ctx.add_result(std::move(result));
}

// (self, target, weight, reduction, ignore_index) -> output, total_weight
void nll_loss_forward(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const at::Tensor& target = ctx.tensor(1);
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  TORCH_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const bool batched = self.dim() == 2;
  TORCH_CHECK(
      !batched || equal(self.sym_size(0), target.dim() ? target.sym_size(0) : c10::SymInt(1)),
      "size mismatch (got input: ", self.sym_sizes(), ", target: ", target.sym_sizes(), ")");
  const bool per_row = batched && !reduces(ctx);
  ctx.add_result(fresh_like(per_row ? Sizes{self.sym_size(0)} : Sizes{}, self));
  ctx.add_result(fresh_like({}, self));
}

// The same of [N, C, H, W].
void nll_loss2d_forward(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(ctx.tensor(1).dim() == 3,
              "only batches of spatial targets supported (3D tensors) but got targets of "
              "dimension: ",
              ctx.tensor(1).dim());
  TORCH_CHECK(self.dim() == 4,
              "only batches of spatial inputs supported (4D tensors), but got input of dimension: ",
              self.dim());
  Sizes rows;
  if (!reduces(ctx)) rows = {self.sym_size(0), self.sym_size(2), self.sym_size(3)};
  ctx.add_result(fresh_like(std::move(rows), self));
  ctx.add_result(fresh_like({}, self));
}

// The gradient of a loss's input: (grad_output, self, ...).
void loss_backward(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(1);
  ctx.add_result(fresh_like(sizes_of(self), self));
}

// (self, target, p, margin, weight, reduction)
void multi_margin_loss(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const bool per_row = self.dim() == 2 && !reduces(ctx);
  ctx.add_result(fresh_like(per_row ? Sizes{self.sym_size(0)} : Sizes{}, self));
}

// (self, target, reduction) -> output, is_target
void multilabel_margin_loss_forward(RuleContext& ctx) {
  multi_margin_loss(ctx);
  ctx.add_result(fresh_like(sizes_of(ctx.tensor(1)), ctx.tensor(0)));
}

constexpr NamedRule kRules[] = {
    {"elementwise_loss", elementwise_loss},
    {"like_loss", like_loss},
    {"logits_loss", logits_loss},
    {"loss_backward", loss_backward},
    {"multi_margin_loss", multi_margin_loss},
    {"multilabel_margin_loss_forward", multilabel_margin_loss_forward},
    {"nll_loss2d_forward", nll_loss2d_forward},
    {"nll_loss_forward", nll_loss_forward},
    {"weighted_loss", weighted_loss},
};

}  // namespace

std::span<const NamedRule> loss_rules() { return kRules; }

}  // namespace triptych::normalize
