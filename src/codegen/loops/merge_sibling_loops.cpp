// for i in N { A }  ...  for j in N { B }   ->   for i in N { A; B[j := i] }
#include <algorithm>
#include <set>

#include "codegen/loops/cleanup.h"
#include "codegen/loops/loop_tree.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

struct Uses {
  std::set<ScalarId> defined, used;
  std::set<BufferId> loaded, stored;
  std::vector<std::pair<BufferId, SymExpr>> loads, stores;
};

void collect(const Body& body, Uses& uses) {
  const auto index = [&](const SymExpr& e) {
    if (e.is_constant()) return;
    for (Symbol symbol : e.symbols()) {
      if (const auto scalar = scalar_of_symbol(symbol)) uses.used.insert(*scalar);
    }
  };
  for_each_statement(body, [&](const Statement& statement) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
      uses.defined.insert(instruction->result);
      uses.used.insert(instruction->args.begin(), instruction->args.end());
      if (instruction->op == ScalarOp::kLoad || instruction->op == ScalarOp::kIndex)
        index(instruction->index);
      if (instruction->op == ScalarOp::kLoad) {
        uses.loaded.insert(instruction->buffer);
        uses.loads.emplace_back(instruction->buffer, instruction->index);
      }
    } else if (const auto* store = std::get_if<Store>(&statement.data)) {
      uses.used.insert(store->value);
      index(store->index);
      uses.stored.insert(store->buffer);
      uses.stores.emplace_back(store->buffer, store->index);
    } else if (const auto* check = std::get_if<Check>(&statement.data)) {
      uses.used.insert(check->condition);
    } else {
      const Loop& loop = std::get<Loop>(statement.data);
      index(loop.extent);
      for (const Reduction& reduction : loop.reductions) {
        uses.defined.insert(reduction.results.begin(), reduction.results.end());
        uses.used.insert(reduction.input);
      }
    }
  });
}

Uses uses_of(const Statement& statement) {
  Uses uses;
  if (const auto* loop = std::get_if<Loop>(&statement.data)) {
    collect(loop->body, uses);
    for (const Reduction& reduction : loop->reductions) {
      uses.defined.insert(reduction.results.begin(), reduction.results.end());
      uses.used.insert(reduction.input);
    }
    return uses;
  }
  Body single = {statement};
  collect(single, uses);
  return uses;
}

template <class T>
bool meet(const std::set<T>& a, const std::set<T>& b) {
  return std::any_of(a.begin(), a.end(), [&](const T& x) { return b.contains(x); });
}

class Merger {
 public:
  void body(Body& statements) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      auto* first = std::get_if<Loop>(&statements[i].data);
      if (first == nullptr) continue;
      body(first->body);
      for (std::size_t j = i + 1; j < statements.size();) {
        if (std::holds_alternative<Loop>(statements[j].data) && legal(statements, i, j)) {
          merge(*first, std::get<Loop>(statements[j].data));
          statements.erase(statements.begin() + static_cast<long>(j));
          first = std::get_if<Loop>(&statements[i].data);
        } else {
          ++j;
        }
      }
    }
  }

 private:
  // May the loop at j run inside the loop at i, iteration by iteration?
  bool legal(const Body& statements, std::size_t i, std::size_t j) const {
    const Loop& a = std::get<Loop>(statements[i].data);
    const Loop& b = std::get<Loop>(statements[j].data);
    if (a.extent != b.extent || has_loops(a.body) || has_loops(b.body)) return false;
    const Uses later = uses_of(statements[j]);
    const Uses earlier = uses_of(statements[i]);
    // Nothing that B uses may be made at or behind A, but by A in the same iteration through a
    // local.
    for (const Reduction& reduction : a.reductions) {
      for (ScalarId id : reduction.results) {
        if (later.used.contains(id)) return false;
      }
    }
    for (std::size_t k = i + 1; k < j; ++k) {
      const Uses between = uses_of(statements[k]);
      if (meet(between.defined, later.used) || meet(between.stored, later.loaded)) return false;
    }
    bool shared = false;
    for (const auto& [buffer, index] : later.loads) {
      const SymExpr renamed = index.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
        return symbol == b.variable ? std::optional(SymExpr::symbol(a.variable)) : std::nullopt;
      });
      if (earlier.stored.contains(buffer)) {
        const auto place = std::pair(buffer, renamed);
        if (std::find(earlier.stores.begin(), earlier.stores.end(), place) == earlier.stores.end())
          return false;
        shared = true;
      } else {
        const auto place = std::pair(buffer, renamed);
        const bool same =
            std::find(earlier.loads.begin(), earlier.loads.end(), place) != earlier.loads.end();
        shared = shared || (same && index.depends_on(b.variable));
      }
    }
    return shared;
  }

  static void merge(Loop& a, Loop& b) {
    substitute(b.body, b.variable, SymExpr::symbol(a.variable));
    std::move(b.body.begin(), b.body.end(), std::back_inserter(a.body));
    std::move(b.reductions.begin(), b.reductions.end(), std::back_inserter(a.reductions));
  }
};

}  // namespace

void merge_sibling_loops(Kernel& kernel) { Merger().body(kernel.body); }

}  // namespace triptych::loops
