// The metadata of an input whose sizes are partly symbols: strides that follow the sizes follow the
// symbols too.
#pragma once

#include <string>
#include <vector>

#include "normalize/shape_rules/shape_rule.h"
#include "normalize/tracer/symbolic_shapes.h"

namespace triptych::normalize {

ResultMeta symbolic_metadata(const at::Tensor& real,
                             const std::vector<std::pair<std::int64_t, std::string>>& symbols,
                             SymbolicShapes& shapes);

}  // namespace triptych::normalize
