// The text form of graphs. parse(print(g)) is equal to g; floats print exactly; schemas of ops
// outside the op table stand in the header, so that text parses without torch.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace triptych::ir {

struct PrintOptions {
  bool locations = true;  // "# file:line module.path" behind each node
  bool signature = true;
};
std::string print(const Graph& graph, const PrintOptions& options = {});

using ConstantBytes = std::map<std::string, std::shared_ptr<const std::vector<std::byte>>>;
// Finds a dispatcher op that the text's header does not declare; nullptr when unknown. Layers above
// give the op table's (ops::parse_graph).
using TargetResolver = std::function<const Target*(std::string_view name)>;
// Constant bytes are looked up in `constants` by name; missing ones leave Constant::bytes empty.
Result<Graph> parse_graph(std::string_view text, const ConstantBytes& constants = {},
                          const TargetResolver& resolve = nullptr);

}  // namespace triptych::ir
