// Where a kernel reads and writes a buffer.
#pragma once

#include <vector>

#include "codegen/loops/fusion/index_map.h"
#include "codegen/loops/loop_tree.h"

namespace triptych::loops {

// A statement and what stands around it. Valid until the tree changes.
struct Site {
  std::vector<Loop*> loops;                           // from outside in
  std::vector<std::pair<Body*, std::size_t>> bodies;  // one more than loops: the position in each

  Body& body() const { return *bodies.back().first; }
  Statement& statement() const { return body()[bodies.back().second]; }
  const SymExpr& index() const;  // of the load or store
  std::vector<Dim> loop_dims(
      const SymExpr& index) const;  // strides in `index`; empty variables if not linear
};

std::vector<Site> store_sites(Kernel& kernel, BufferId buffer);
std::vector<Site> load_sites(Kernel& kernel, BufferId buffer);

// The scalar stored to buffer[index] by a statement that has certainly run, in this iteration,
// before the site's position (in its body or one around it); nullopt when there is none.
std::optional<ScalarId> visible_store(const Site& site, BufferId buffer, const SymExpr& index);

bool inside_reduction(const Site& site);

}  // namespace triptych::loops
