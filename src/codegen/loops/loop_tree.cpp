#include "codegen/loops/loop_tree.h"

#include <algorithm>

#include "codegen/loops/scalar_types.h"

namespace triptych::loops {

void substitute(Body& body, const std::map<Symbol, SymExpr>& values) {
  for_each_index(body, [&](SymExpr& e) {
    if (e.is_constant()) return;
    e = e.substitute([&](Symbol s) -> std::optional<SymExpr> {
      const auto found = values.find(s);
      if (found == values.end()) return std::nullopt;
      return found->second;
    });
  });
}

void substitute(Body& body, Symbol symbol, const SymExpr& value) {
  for_each_index(body, [&](SymExpr& e) {
    if (e.is_constant() || !e.depends_on(symbol)) return;
    e = e.substitute([&](Symbol s) -> std::optional<SymExpr> {
      if (s != symbol) return std::nullopt;
      return value;
    });
  });
}

bool has_loops(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& statement) {
    return std::holds_alternative<Loop>(statement.data);
  });
}

Nest take_nest(Body body) {
  Nest nest;
  nest.body = std::move(body);
  while (nest.body.size() == 1) {
    auto* loop = std::get_if<Loop>(&nest.body[0].data);
    if (loop == nullptr || !loop->reductions.empty()) break;
    Body inner = std::move(loop->body);
    loop->body.clear();
    nest.loops.push_back(std::move(*loop));
    nest.body = std::move(inner);
  }
  return nest;
}

Body rebuild(Nest nest) {
  Body body = std::move(nest.body);
  for (std::size_t i = nest.loops.size(); i-- > 0;) {
    nest.loops[i].body = std::move(body);
    body.clear();
    body.push_back(Statement{std::move(nest.loops[i])});
  }
  return body;
}

void drop_unit_loops(Body& body) {
  Body result;
  result.reserve(body.size());
  for (Statement& statement : body) {
    auto* loop = std::get_if<Loop>(&statement.data);
    if (loop == nullptr) {
      result.push_back(std::move(statement));
      continue;
    }
    drop_unit_loops(loop->body);
    if (loop->extent == SymExpr(1) && loop->reductions.empty()) {
      substitute(loop->body, loop->variable, SymExpr(0));
      std::move(loop->body.begin(), loop->body.end(), std::back_inserter(result));
    } else {
      result.push_back(std::move(statement));
    }
  }
  body = std::move(result);
}

void sink_instructions(Body& body) {
  if (body.empty()) return;
  auto* loop = std::get_if<Loop>(&body.back().data);
  const bool alone = loop != nullptr && loop->reductions.empty() &&
                     std::all_of(body.begin(), body.end() - 1, [](const Statement& s) {
                       return std::holds_alternative<Instruction>(s.data);
                     });
  if (alone && body.size() > 1) {
    loop->body.insert(loop->body.begin(), std::make_move_iterator(body.begin()),
                      std::make_move_iterator(body.end() - 1));
    Statement only = std::move(body.back());
    body.clear();
    body.push_back(std::move(only));
  }
  for (Statement& statement : body) {
    if (auto* inner = std::get_if<Loop>(&statement.data)) sink_instructions(inner->body);
  }
}

namespace {

// outer and inner become one loop named after inner: sum(c_o * o + c_i * i) with c_o == c_i *
// extent(i).
bool mergeable(const Symbol outer, const Loop& inner, const std::vector<Affine>& indices) {
  return std::all_of(indices.begin(), indices.end(), [&](const Affine& index) {
    return index.linear &&
           index.coefficient(outer) == index.coefficient(inner.variable) * inner.extent;
  });
}

}  // namespace

void collapse(Nest& nest, std::size_t fixed) {
  if (nest.loops.size() < fixed + 2) return;
  std::vector<Symbol> variables;
  for (const Loop& loop : nest.loops) variables.push_back(loop.variable);
  std::vector<Affine> indices;
  for_each_index(std::as_const(nest.body), [&](const SymExpr& e) {
    if (!e.is_constant()) indices.push_back(affine_in(e, variables));
  });
  for (const Loop& loop : nest.loops) {
    if (!loop.extent.is_constant()) indices.push_back(affine_in(loop.extent, variables));
  }
  for (std::size_t i = nest.loops.size() - 1; i > fixed; --i) {
    Loop& outer = nest.loops[i - 1];
    Loop& inner = nest.loops[i];
    if (!mergeable(outer.variable, inner, indices)) continue;
    substitute(nest.body, outer.variable, SymExpr(0));
    // The merged loop keeps the inner variable and stands at the outer's place.
    for (Affine& index : indices) {
      std::erase_if(index.terms, [&](const auto& t) { return t.variable == outer.variable; });
    }
    inner.extent *= outer.extent;
    nest.loops.erase(nest.loops.begin() + static_cast<long>(i) - 1);
  }
}

namespace {

// for a reduce(r = sum p) { for b reduce(p = sum x) } -> one loop, where the indices allow it.
// Loops with positions as results (kArgMin) or several results are left alone.
void collapse_reduction(Loop& outer) {
  while (outer.body.size() == 1) {
    auto* inner = std::get_if<Loop>(&outer.body[0].data);
    if (inner == nullptr || inner->reductions.size() != outer.reductions.size()) return;
    for (std::size_t i = 0; i < outer.reductions.size(); ++i) {
      const Reduction& a = outer.reductions[i];
      const Reduction& b = inner->reductions[i];
      const bool match = a.op == b.op && a.dtype == b.dtype && b.results.size() == 1 &&
                         a.input == b.results[0] && a.op != ReduceOp::kWelford;
      if (!match) return;
    }
    const Symbol variables[] = {outer.variable, inner->variable};
    std::vector<Affine> indices = {affine_in(inner->extent, variables)};
    for_each_index(std::as_const(inner->body), [&](const SymExpr& e) {
      if (!e.is_constant()) indices.push_back(affine_in(e, variables));
    });
    if (!mergeable(outer.variable, *inner, indices)) return;
    substitute(inner->body, outer.variable, SymExpr(0));
    for (std::size_t i = 0; i < outer.reductions.size(); ++i) {
      outer.reductions[i].input = inner->reductions[i].input;
    }
    outer.variable = inner->variable;
    outer.extent *= inner->extent;
    Body body = std::move(inner->body);
    outer.body = std::move(body);
  }
}

void collapse_tree(Body& body) {
  Nest nest = take_nest(std::move(body));
  collapse(nest);
  for (Statement& statement : nest.body) {
    auto* loop = std::get_if<Loop>(&statement.data);
    if (loop == nullptr) continue;
    if (!loop->reductions.empty()) {
      collapse_reduction(*loop);
      collapse_tree(loop->body);
      continue;
    }
    Body single;
    single.push_back(std::move(statement));
    collapse_tree(single);
    statement = std::move(single[0]);
  }
  body = rebuild(std::move(nest));
}

}  // namespace

void normalize_loops(Kernel& kernel) {
  drop_unit_loops(kernel.body);
  sink_instructions(kernel.body);
  collapse_tree(kernel.body);
}

namespace {

class Hoister {
 public:
  explicit Hoister(std::size_t scalars) : depth_(scalars, 0) {}

  // Statements of `body`, at loop depth `depth`; returns those that belong further out.
  void run(Body& body) {
    Body result;
    result.reserve(body.size());
    for (Statement& statement : body) {
      auto* loop = std::get_if<Loop>(&statement.data);
      if (loop == nullptr) {
        if (auto* instruction = std::get_if<Instruction>(&statement.data)) {
          set_depth(instruction->result, level(*instruction));
        }
        result.push_back(std::move(statement));
        continue;
      }
      variables_.push_back(loop->variable);
      run(loop->body);
      const std::size_t inside = variables_.size();
      Body kept;
      kept.reserve(loop->body.size());
      bool checked = false;
      for (Statement& inner : loop->body) {
        const bool moves = may_move(*loop, inner, inside, checked);
        checked = checked || (!moves && std::holds_alternative<Check>(inner.data));
        (moves ? result : kept).push_back(std::move(inner));
      }
      loop->body = std::move(kept);
      variables_.pop_back();
      for (const Reduction& reduction : loop->reductions) {
        for (ScalarId id : reduction.results) set_depth(id, variables_.size());
      }
      result.push_back(std::move(statement));
    }
    body = std::move(result);
  }

  // A failed check ends the kernel: it may come earlier, but no load may pass one that stays.
  bool may_move(const Loop& loop, const Statement& statement, std::size_t inside, bool checked) {
    if (const auto* check = std::get_if<Check>(&statement.data)) {
      return depth_[check->condition.value] < inside && loop.extent != SymExpr(0) &&
             loop.schedule != Schedule::kParallel;  // M1
    }
    const auto* instruction = std::get_if<Instruction>(&statement.data);
    if (instruction == nullptr) return false;
    const bool stays = level(*instruction) >= inside ||
                       (checked && instruction->op == ScalarOp::kLoad) ||
                       is_input(loop, *instruction);
    if (stays) set_depth(instruction->result, inside);
    return !stays;
  }

  void set_local(BufferId id) { locals_.push_back(id); }

 private:
  static bool is_input(const Loop& loop, const Instruction& instruction) {
    return std::any_of(loop.reductions.begin(), loop.reductions.end(),
                       [&](const Reduction& r) { return r.input == instruction.result; });
  }

  void set_depth(ScalarId id, std::size_t depth) {
    if (id.value >= depth_.size()) depth_.resize(id.value + 1, 0);
    depth_[id.value] = depth;
  }

  // The number of enclosing loops that the instruction really depends on.
  std::size_t level(const Instruction& instruction) const {
    std::size_t result = 0;
    for (ScalarId arg : instruction.args) result = std::max(result, depth_[arg.value]);
    const bool local =
        std::find(locals_.begin(), locals_.end(), instruction.buffer) != locals_.end();
    if (instruction.op == ScalarOp::kLoad && local) return variables_.size();
    if (instruction.op == ScalarOp::kLoad || instruction.op == ScalarOp::kIndex) {
      for (Symbol symbol : instruction.index.symbols()) {
        for (std::size_t i = result; i < variables_.size(); ++i) {
          if (variables_[i] == symbol) result = i + 1;
        }
        const auto scalar = scalar_of_symbol(symbol);
        if (scalar && scalar->value < depth_.size())
          result = std::max(result, depth_[scalar->value]);
      }
    }
    return result;
  }

  std::vector<std::size_t> depth_;
  std::vector<Symbol> variables_;
  std::vector<BufferId> locals_;
};

}  // namespace

void hoist_invariants(Kernel& kernel) {
  Hoister hoister(kernel.num_scalars);
  for (std::uint32_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer::Kind kind = kernel.buffers[BufferId{i}].kind;
    if (kind != Buffer::Kind::kInput) hoister.set_local(BufferId{i});
  }
  hoister.run(kernel.body);
}

}  // namespace triptych::loops
