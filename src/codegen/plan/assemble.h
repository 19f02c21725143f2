// Turns mapped kernels and external calls into a program: slots, memory plan, steps.
#pragma once

#include <functional>

#include "codegen/loops/loop_program.h"
#include "codegen/plan/program.h"

namespace triptych::plan {

struct AssembleOptions {
  bool reuse_memory = true;
  // The out form of an op whose kernel really writes into given memory; nullptr: none. From the op
  // table.
  std::function<const ir::Target*(const ir::Target&)> out_target;
};

// Requires: the rules of loop_program.h. The program computes what the graph's signature says.
Result<Program> assemble(const loops::LoopProgram& loops, const AssembleOptions& options = {});

}  // namespace triptych::plan
