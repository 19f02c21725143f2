// The simd family: one parallel outer loop, vector inner loops.
#pragma once

#include "codegen/loops/kernel.h"
#include "codegen/mapping/traits.h"

namespace triptych::mapping {

// Requires an unmapped kernel. Same meaning; schedules set by M1-M4 of kernel.h.
loops::Kernel map_to_simd(loops::Kernel kernel, const Traits& traits);

}  // namespace triptych::mapping
