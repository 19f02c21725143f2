// Stage 2. Runs a program on fake tensors under the tracer and functionalization, and gives its
// normalized graph.
//
// Requires: a program that is a function of its inputs and of real tensors that it meets. Ensures:
// C2.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include "ir/graph.h"
#include "normalize/node_runner.h"
#include "normalize/tracer/trace.h"

namespace triptych::normalize {

struct ProgramInput {
  ir::Input::Kind kind = ir::Input::Kind::kUser;
  std::string name;
  c10::IValue example;  // a real tensor, or an integer
  // Tensors: which dimensions are symbols. An integer that is a symbol has one entry, for dimension
  // 0.
  std::vector<std::pair<std::int64_t, std::string>> symbols;
};

struct NormalizeRequest {
  std::string name = "graph";
  std::vector<ProgramInput> inputs;
  std::set<std::string> keep;  // ops not to decompose, as "aten.gelu.default"
};

struct NormalizeReport {
  TraceCounters counters;
  int specialized_sizes = 0;
};

// Unsupported programs are a Result; exceptions of the program itself (and of data-dependent code)
// pass through.
Result<ir::Graph> normalize(const NormalizeRequest& request, NodeRunner& runner,
                            NormalizeReport* report = nullptr);

}  // namespace triptych::normalize
