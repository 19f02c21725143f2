// The out form of an op: writes into memory that it is given.
#pragma once

#include "ir/graph.h"

namespace triptych::ops {

// Interned with its schema; nullptr when the op's row names no real out kernel.
const ir::Target* out_target(const ir::Target& target);

}  // namespace triptych::ops
