#include "codegen/plan/in_place.h"

namespace triptych::plan {

using ir::SymExpr;
using loops::Kernel;
using loops::Loop;
using loops::Statement;

namespace {

// Where an access stands: for every enclosing body the position of the statement in it, and the
// loops.
struct Access {
  std::vector<const Loop*> loops;
  std::vector<std::size_t> positions;  // positions.size() == loops.size() + 1
  SymExpr index;
};

struct Collector {
  loops::BufferId read, written;
  std::vector<Access> loads = {}, stores = {};
  Access here = {};

  void visit(const std::vector<Statement>& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      here.positions.push_back(i);
      visit(body[i]);
      here.positions.pop_back();
    }
  }

  void visit(const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement.data)) {
      here.loops.push_back(loop);
      visit(loop->body);
      here.loops.pop_back();
    } else if (const auto* instruction = std::get_if<loops::Instruction>(&statement.data)) {
      if (instruction->op == loops::ScalarOp::kLoad && instruction->buffer == read) {
        loads.push_back(here);
        loads.back().index = instruction->index;
      }
    } else if (const auto* store = std::get_if<loops::Store>(&statement.data)) {
      if (store->buffer == written) {
        stores.push_back(here);
        stores.back().index = store->index;
      }
    }
  }
};

bool stands_before(const Access& load, const Access& store) {
  if (load.loops.size() != store.loops.size()) return false;
  std::size_t common = 0;
  while (common < load.loops.size() && load.loops[common] == store.loops[common]) ++common;
  if (load.positions[common] >= store.positions[common]) return false;
  const auto renamed = [&](ir::Symbol symbol) -> std::optional<SymExpr> {
    for (std::size_t i = common; i < load.loops.size(); ++i) {
      if (load.loops[i]->variable == symbol) return SymExpr::symbol(store.loops[i]->variable);
    }
    return std::nullopt;
  };
  for (std::size_t i = common; i < load.loops.size(); ++i) {
    if (!(load.loops[i]->extent.substitute(renamed) == store.loops[i]->extent)) return false;
  }
  return load.index.substitute(renamed) == store.index;
}

}  // namespace

bool may_share_memory(const Kernel& kernel, loops::BufferId read, loops::BufferId written) {
  const auto width = [&](loops::BufferId id) { return ir::dtype_bytes(kernel.buffers[id].dtype); };
  if (width(read) != width(written)) return false;
  Collector found{read, written};
  found.visit(kernel.body);
  for (const Access& load : found.loads) {
    for (const Access& store : found.stores) {
      if (!stands_before(load, store)) return false;
    }
  }
  return true;
}

}  // namespace triptych::plan
