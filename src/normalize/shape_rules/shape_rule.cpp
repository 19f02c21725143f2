#include "normalize/shape_rules/shape_rule.h"

#include <unordered_map>

#include "normalize/shape_rules/families.h"

namespace triptych::normalize {

static std::unordered_map<std::string_view, ShapeRule> all_rules() {
  std::unordered_map<std::string_view, ShapeRule> rules;
  for (const auto family :
       {attention_rules(), convolution_rules(), factory_rules(),   index_rules(),
        indexing_rules(),  join_rules(),        linalg_rules(),    loss_rules(),
        matmul_rules(),    norm_rules(),        pointwise_rules(), pooling_rules(),
        random_rules(),    reduction_rules(),   resize_rules(),    rnn_rules(),
        sort_rules(),      spectral_rules(),    view_part_rules(), view_rules()}) {
    for (const NamedRule& named : family) {
      TORCH_INTERNAL_ASSERT(rules.emplace(named.name, named.rule).second, "two rules named ",
                            named.name);
    }
  }
  return rules;
}

ShapeRule find_shape_rule(std::string_view name) {
  static const auto rules = all_rules();
  const auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace triptych::normalize
