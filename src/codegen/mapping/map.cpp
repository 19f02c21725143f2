#include "codegen/mapping/map.h"

#include "codegen/loops/kernel_rewrite.h"
#include "codegen/mapping/simd_mapper.h"

namespace triptych::mapping {

Result<loops::LoopProgram> map_to_machine(loops::LoopProgram program, const Traits& traits) {
  if (traits.family != Family::kSimd) {
    return unsupported("mapping.family", "map_to_machine: found a family other than simd, expected simd");
  }
  for (loops::Item& item : program.items) {
    auto* kernel = std::get_if<loops::KernelItem>(&item);
    if (kernel == nullptr) continue;
    kernel->kernel = map_to_simd(std::move(kernel->kernel), traits);
    loops::canonicalize(kernel->kernel);
  }
  return program;
}

}  // namespace triptych::mapping
