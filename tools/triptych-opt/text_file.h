// A text file of any level: one graph (C1, C2) or any number of kernels (C3).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "codegen/loops/kernel.h"
#include "ir/graph.h"

namespace triptych::opt {

using Contents = std::variant<ir::Graph, std::vector<loops::Kernel>>;

Result<Contents> read_text_file(const std::string& path);  // "-": standard input
std::vector<Error> verify(const Contents& contents);
std::string print(const Contents& contents);

}  // namespace triptych::opt
