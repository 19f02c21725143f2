// Rules of fused attention.
#include <ATen/OpMathType.h>

#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

// (query, key, value, ...) of [batch, heads, length, depth] -> output, laid out as the query;
// logsumexp of [batch, length, heads] seen as [batch, heads, length].
void flash_attention_cpu(RuleContext& ctx) {
  const at::Tensor& query = ctx.tensor(0);
  TORCH_CHECK(query.dim() == 4,
              "scaled_dot_product_attention_flash_attention: Accept only 4 dims "
              "inputs shape of {B, H, T, K}");
  const SizesRef q = query.sym_sizes();
  ResultMeta output = fresh_like(sizes_of(query), query);
  output.strides = strides_like(query, at::MemoryFormat::Preserve);
  ctx.add_result(std::move(output));
  const at::ScalarType dtype = at::toOpMathType(query.scalar_type());
  ResultMeta logsumexp = fresh({q[0], q[2], q[1]}, dtype, query.device());
  std::swap(logsumexp.sizes[1], logsumexp.sizes[2]);
  std::swap(logsumexp.strides[1], logsumexp.strides[2]);
  ctx.add_result(std::move(logsumexp));
}

// A whole encoder layer in one kernel: a result like its input, contiguous.
void encoder_layer(RuleContext& ctx) {
  ctx.add_result(fresh_like(sizes_of(ctx.tensor(0)), ctx.tensor(0)));
}

// (query, key, value, embed_dim, num_head, ..., need_weights, average_attn_weights, mask_type) of
// [batch, length, depth] -> output, and the weights where they are wanted
void native_multi_head_attention(RuleContext& ctx) {
  const at::Tensor& query = ctx.tensor(0);
  const SizesRef q = query.sym_sizes();
  ctx.add_result(fresh_like(sizes_of(query), query));
  if (!as_bool(named(ctx, "need_weights"))) {
    ctx.add_result(undefined_result());
    return;
  }
  Sizes weights{q[0]};
  if (!as_bool(named(ctx, "average_attn_weights"))) weights.push_back(ctx.arg(4).toInt());
  weights.push_back(q[1]);
  weights.push_back(ctx.tensor(1).sym_size(1));
  ctx.add_result(fresh_like(std::move(weights), query));
}

constexpr NamedRule kRules[] = {
    {"encoder_layer", encoder_layer},
    {"flash_attention_cpu", flash_attention_cpu},
    {"native_multi_head_attention", native_multi_head_attention},
};

}  // namespace

std::span<const NamedRule> attention_rules() { return kRules; }

}  // namespace triptych::normalize
