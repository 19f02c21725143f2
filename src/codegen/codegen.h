// Stage 3: from a normalized graph to kernels, their text and a program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/loops/loop_program.h"
#include "codegen/loops/lower.h"
#include "codegen/mapping/traits.h"
#include "codegen/plan/program.h"
#include "codegen/writers/writer.h"
#include "ir/graph.h"

namespace triptych::codegen {

struct Options {
  bool fuse = true;
  bool eager_rounding = false;  // round f16/bf16 intermediates as eager does
  bool reuse_memory = true;
  loops::LowerOptions lower;
  // Replaces what no input has a part in by constants; empty: nothing runs ops at compile time.
  std::function<Status(ir::Graph&)> fold_constants;
};

// A code generation target: everything the pipeline needs to know of a device.
struct Target {
  std::string name;  // "cpu"
  mapping::Traits traits;
  const writers::Writer* writer = nullptr;
};

struct StageTime {
  std::string name;
  double milliseconds = 0;
};
struct External {
  std::string node, reason;
};

struct Generated {
  plan::Program program;   // holds the mapped kernels
  writers::Module module;  // one entry per kernel of the program
  std::vector<StageTime> times;
  std::vector<External> externals;  // which nodes stayed external calls, and why
};

// Requires: C2. Nothing is refused for an op that has no lowering: it becomes an external call.
Result<Generated> generate(const ir::Graph& graph, const Target& target,
                           const Options& options = {});

// The intermediate forms: one kernel per op; fused, knowing no device; on the target's machine.
enum class Form : std::uint8_t { kLowered, kFused, kMapped };
// Made anew.
Result<loops::LoopProgram> intermediate_form(const ir::Graph& graph, Form form,
                                             const Target& target, const Options& options = {});

// The same from a form on, one that was edited for example.
Result<loops::LoopProgram> advance(loops::LoopProgram program, Form from, Form to,
                                   const Target& target, const Options& options = {});
Result<Generated> generate_from(loops::LoopProgram program, Form form, const Target& target,
                                const Options& options = {});
Result<Generated> generate_from(plan::Program program, const Target& target);

}  // namespace triptych::codegen
