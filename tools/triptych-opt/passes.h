// Passes by name, for the command line.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace triptych::opt {

struct GraphPass {
  std::string_view name;
  std::string_view summary;  // one line
  std::function<Status(ir::Graph&)> run;
};

class PassRegistry {
 public:
  void add(GraphPass pass) { passes_.push_back(std::move(pass)); }
  const GraphPass* find(std::string_view name) const;
  const std::vector<GraphPass>& passes() const { return passes_; }

 private:
  std::vector<GraphPass> passes_;
};

PassRegistry built_in_passes();

}  // namespace triptych::opt
