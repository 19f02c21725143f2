// Does an argument fit a schema's type?
#pragma once

#include "ir/graph.h"

namespace triptych::ir {

// A number fits Tensor (a wrapped number), an int fits float and Scalar, a symbolic value what it
// stands for.
bool fits(const Graph& graph, const Argument& argument, const SchemaType& type);

}  // namespace triptych::ir
