#include "normalize/decompositions/decomposition.h"

#include <unordered_map>

#include "normalize/decompositions/families.h"

namespace triptych::normalize {

static std::unordered_map<std::string_view, c10::KernelFunction> all_decompositions() {
  std::unordered_map<std::string_view, c10::KernelFunction> all;
  for (auto family : {activation_decompositions, factory_decompositions, indexing_decompositions,
                      loss_decompositions, matmul_decompositions, norm_decompositions,
                      pointwise_decompositions, reduction_decompositions, view_decompositions}) {
    for (NamedDecomposition& named : family()) {
      TORCH_INTERNAL_ASSERT(all.emplace(named.name, std::move(named.kernel)).second,
                            "two decompositions named ", named.name);
    }
  }
  return all;
}

const c10::KernelFunction* find_decomposition(std::string_view name) {
  static const auto all = all_decompositions();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace triptych::normalize
