#include "codegen/mapping/map.h"

#include "codegen/loops/kernel_rewrite.h"
#include "codegen/mapping/simd_mapper.h"
#include "codegen/mapping/split_kernel.h"

namespace triptych::mapping {

Result<loops::LoopProgram> map_to_machine(loops::LoopProgram program, const Traits& traits) {
  if (traits.family != Family::kSimd) {
    return unsupported("mapping.family",
                       "map_to_machine: found a family other than simd, expected simd");
  }
  std::vector<loops::Item> items;
  items.reserve(program.items.size());
  for (loops::Item& item : program.items) {
    auto* kernel = std::get_if<loops::KernelItem>(&item);
    if (kernel == nullptr) {
      items.push_back(std::move(item));
      continue;
    }
    for (loops::KernelItem& part : split_kernel(std::move(*kernel), program.graph)) {
      part.kernel = map_to_simd(std::move(part.kernel), traits);
      loops::canonicalize(part.kernel);
      items.emplace_back(std::move(part));
    }
  }
  program.items = std::move(items);
  return program;
}

}  // namespace triptych::mapping
