// Equality of kernels: names, numbers of scalars and schedules included; constants by their bits.
#pragma once

#include "codegen/loops/kernel.h"

namespace triptych::loops {

// `num_scalars` is no part of it: rewriting leaves gaps that the text does not show.
bool equal(const Kernel& a, const Kernel& b);

}  // namespace triptych::loops
