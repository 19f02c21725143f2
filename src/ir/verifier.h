// Checks a graph against the contract of its level (C1 or C2). All violations are collected.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

namespace triptych::ir {

struct VerifyOptions {
  // C2: is this dispatcher op allowed? Given by whoever knows the op set (core ATen, keep list,
  // custom ops).
  std::function<bool(const Target&)> allowed;
};
std::vector<Error> verify(const Graph& graph, const VerifyOptions& options = {});

}  // namespace triptych::ir
