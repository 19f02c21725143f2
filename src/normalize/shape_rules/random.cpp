// Rules of random ops over a tensor; random factories are in factory.cpp.
#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

ResultMeta like(const at::Tensor& self, at::ScalarType dtype) {
  ResultMeta result;
  result.sizes = sizes_of(self);
  result.strides = strides_like(self, at::MemoryFormat::Preserve);
  result.dtype = dtype;
  result.device = self.device();
  return result;
}

// A result like the first argument: bernoulli, uniform, normal_functional, exponential, ...
void random_like(RuleContext& ctx) {
  ctx.add_result(like(ctx.tensor(0), ctx.tensor(0).scalar_type()));
}

// (input, p, train) -> output, mask
void native_dropout(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  ctx.add_result(like(input, input.scalar_type()));
  ctx.add_result(like(input, at::kBool));
}

// (grad_output, mask, scale): the scale promotes the gradient, the mask does not.
void native_dropout_backward(RuleContext& ctx) {
  Promotion promotion;
  promotion.add(ctx.tensor(0));
  promotion.add_number(ctx.arg(2));
  ctx.add_result(elementwise(tensor_operands(ctx), promotion.result(), {std::nullopt, true}));
}

void multinomial(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
  Sizes sizes;
  if (self.dim() == 2) sizes.push_back(self.sym_size(0));
  sizes.push_back(as_symint(ctx.arg(1)));
  ctx.add_result(fresh(std::move(sizes), at::kLong, self.device()));
}

// normal.Tensor_float, .float_Tensor, .Tensor_Tensor: broadcast of mean and deviation.
void normal_broadcast(RuleContext& ctx) {
  const Operands operands = tensor_operands(ctx);
  Sizes sizes = sizes_of(*operands[0]);
  if (operands.size() == 2) sizes = broadcast(sizes, operands[1]->sym_sizes());
  ctx.add_result(fresh_like(std::move(sizes), *operands[0]));
}

constexpr NamedRule kRules[] = {
    {"multinomial", multinomial},
    {"native_dropout", native_dropout},
    {"native_dropout_backward", native_dropout_backward},
    {"normal_broadcast", normal_broadcast},
    {"random_like", random_like},
};

}  // namespace

std::span<const NamedRule> random_rules() { return kRules; }

}  // namespace triptych::normalize
