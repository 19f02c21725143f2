// Walking and rewriting trees of loops: the vocabulary of fusion and mapping.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "codegen/loops/affine.h"
#include "codegen/loops/kernel.h"

namespace triptych::loops {

using Body = std::vector<Statement>;

template <class F>
void for_each_statement(Body& body, const F& visit) {  // outer before inner, in order
  for (Statement& statement : body) {
    visit(statement);
    if (auto* loop = std::get_if<Loop>(&statement.data)) for_each_statement(loop->body, visit);
  }
}
template <class F>
void for_each_statement(const Body& body, const F& visit) {
  for (const Statement& statement : body) {
    visit(statement);
    if (const auto* loop = std::get_if<Loop>(&statement.data))
      for_each_statement(loop->body, visit);
  }
}

// Every index expression and loop extent. B is Body or const Body.
template <class B, class F>
void for_each_index(B& body, const F& visit) {
  for_each_statement(body, [&](auto& statement) {
    if (auto* instruction = std::get_if<Instruction>(&statement.data)) {
      if (instruction->op == ScalarOp::kLoad || instruction->op == ScalarOp::kIndex) {
        visit(instruction->index);
      }
    } else if (auto* store = std::get_if<Store>(&statement.data)) {
      visit(store->index);
    } else if (auto* loop = std::get_if<Loop>(&statement.data)) {
      visit(loop->extent);
    }
  });
}

// Replaces `symbol` by `value` in every index and extent.
void substitute(Body& body, Symbol symbol, const SymExpr& value);
void substitute(Body& body, const std::map<Symbol, SymExpr>& values);

bool has_loops(const Body& body);

// The loops around everything: from outside in, each but the last containing nothing but the next.
// `loops` have empty bodies; the body of the last stands in `body`. Loops with reductions are not
// taken.
struct Nest {
  std::vector<Loop> loops;
  Body body;
};
Nest take_nest(Body body);
Body rebuild(Nest nest);

// Normal form that fusion and mapping start from: no loops of one iteration, pure instructions
// moved into the only loop behind them, neighbouring loops collapsed where every index allows it.
void normalize_loops(Kernel& kernel);
void drop_unit_loops(Body& body);
void sink_instructions(Body& body);
// Collapses neighbours of `nest` for which index coefficients agree. `fixed` loops at the front
// stay.
void collapse(Nest& nest, std::size_t fixed = 0);

// Instructions that depend on no variable of a loop move in front of it, through all levels.
void hoist_invariants(Kernel& kernel);

}  // namespace triptych::loops
