// Stage 3: from a normalized graph to kernels, their text and a program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/loops/kernel.h"
#include "codegen/mapping/traits.h"
#include "codegen/plan/program.h"
#include "codegen/writers/writer.h"
#include "ir/graph.h"

namespace triptych::codegen {

struct Options {
  bool fuse = true;
  bool eager_rounding = false;       // round f16/bf16 intermediates as eager does
  bool reuse_memory = true;
};

struct StageTime { std::string name; double milliseconds = 0; };

struct Generated {
  ir::Graph graph;                          // as given
  std::vector<loops::Kernel> lowered;       // one kernel per op, before fusion
  std::vector<loops::Kernel> fused;         // device-neutral
  plan::Program program;                    // holds the mapped kernels
  writers::Module module;
  std::vector<StageTime> times;
  struct External { std::string node, reason; };
  std::vector<External> externals;          // which nodes stayed external calls, and why
};

// A code generation target: everything the pipeline needs to know of a device.
struct Target {
  std::string name;                         // "cpu"
  mapping::Traits traits;
  const writers::Writer* writer = nullptr;
};

Result<Generated> generate(const ir::Graph& graph, const Target& target, const Options& options = {});

}  // namespace triptych::codegen
