// The traits of the machine that runs this process.
#pragma once

#include "codegen/mapping/traits.h"

namespace triptych::mapping {

// Instruction sets by cpuid, cache sizes from the system. `cpu` and `features` stay empty:
// toolchains take the host's own.
Traits host_traits();

}  // namespace triptych::mapping
