// The generated rows, sorted by name; row i is that of Op i.
#pragma once

#include <span>

#include "ops/op_table.h"

namespace triptych::ops {

std::span<const OpInfo> rows();

}  // namespace triptych::ops
