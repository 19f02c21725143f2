// Whether a legal fusion pays: memory traffic and launches saved against work repeated. All sizes
// of symbols are their hints. Numbers and reasons: docs/fusion.md.
#pragma once

#include "codegen/loops/fusion/group.h"
#include "codegen/mapping/traits.h"
#include "ir/graph.h"

namespace triptych::loops {

struct Costs {
  double load_bytes = 0;  // per iteration of a pointwise kernel
  int operations = 0;     // in additions, per iteration
  int instructions = 0;
  int loads = 0;
};
Costs pointwise_costs(const Group& group);

class Profitability {
 public:
  Profitability(const ir::Graph& graph, const mapping::Traits& traits);

  double bytes(ValueId value) const;        // of all elements
  double evaluate(const SymExpr& e) const;  // with hints

  // Cheap enough to be computed again instead of stored and loaded.
  bool cheap(const Group& group) const;
  // Reads no memory: fills, ranges, masks.
  bool free(const Group& group) const;
  // How often a pointwise producer would be computed per element if it went to the host's loads of
  // `value`; what hoisting moves out of inner loops does not count.
  double recompute_factor(Group& host, ValueId value) const;
  // Too large to be one kernel: registers, compile time. Empty when fine, else why.
  std::string too_large(const Group& a, const Group& b, std::size_t buffers) const;
  std::int64_t local_limit() const { return traits_.l2_bytes / 2; }

 private:
  const ir::Graph& graph_;
  const mapping::Traits& traits_;
  std::map<Symbol, std::int64_t> hints_;
};

}  // namespace triptych::loops
