// Rules of recurrent layers and their cells.
#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

// One direction of one layer, time first: the outputs, the last states; the workspace is for
// training only.
void mkldnn_rnn_layer(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  Sizes sizes = sizes_of(input);
  sizes.back() = named(ctx, "hidden_size").toInt();
  ctx.add_result(fresh_like(std::move(sizes), input));
  ctx.add_result(fresh_like(sizes_of(ctx.tensor(5)), input));
  ctx.add_result(fresh_like(sizes_of(ctx.tensor(6)), input));
  ctx.add_result(undefined_result());
}

constexpr NamedRule kRules[] = {{"mkldnn_rnn_layer", mkldnn_rnn_layer}};

}  // namespace

std::span<const NamedRule> rnn_rules() { return kRules; }

}  // namespace triptych::normalize
