// A text of any level: a graph (C1, C2), kernels, a loop program (lowered, fused or mapped: C3), or
// a program with its mapped kernels.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "codegen/loops/loop_program.h"
#include "codegen/plan/program.h"
#include "ir/graph.h"

namespace triptych::opt {

using Contents =
    std::variant<ir::Graph, std::vector<loops::Kernel>, loops::LoopProgram, plan::Program>;

// "-": standard input. Bytes of constants stand in PATH.bin, where there are any.
Result<Contents> read_text_file(const std::string& path);
std::string_view level_name(const Contents& contents);  // "a graph", "kernels", ...
std::vector<Error> verify(const Contents& contents);
std::string print(const Contents& contents);

}  // namespace triptych::opt
