// Graphs as files: PATH holds the text, PATH.bin beside it the bytes of the constants (only when
// there are any). Both are written whole or not at all.
#pragma once

#include <string>

#include "ir/graph_text.h"

namespace triptych::ir {

// An error for a constant that has a handle but no bytes.
Status save_graph(const Graph& graph, const std::string& path);
// The constants' bytes must be there.
Result<Graph> load_graph(const std::string& path, const TargetResolver& resolve = nullptr);
// What the sidecar of PATH holds; nothing when there is none.
Result<ConstantBytes> read_constants(const std::string& path);
Result<std::string> read_text(const std::string& path);

}  // namespace triptych::ir
