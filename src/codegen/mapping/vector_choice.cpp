#include "codegen/mapping/vector_choice.h"

#include <algorithm>

namespace triptych::mapping {

using loops::Body;
using loops::DType;
using loops::Instruction;
using loops::Loop;
using loops::ScalarOp;
using loops::Statement;
using loops::Store;
using loops::Symbol;
using loops::SymExpr;

int vector_width(const loops::Kernel& kernel, const Body& body, const Traits& traits) {
  int floats = 0;
  int integers = 0;
  const auto see = [&](DType dtype, bool arithmetic) {
    // A 16-bit float is computed with as f32 unless it is only moved.
    const int bytes = ir::dtype_bytes(dtype);
    int& widest = ir::is_floating(dtype) ? floats : integers;
    if (arithmetic || ir::is_floating(dtype)) widest = std::max(widest, bytes);
  };
  loops::for_each_statement(body, [&](const Statement& statement) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
      see(instruction->dtype, instruction->op != ScalarOp::kIndex);
    } else if (const auto* store = std::get_if<Store>(&statement.data)) {
      see(kernel.buffers[store->buffer].dtype, true);
    }
  });
  const int widest = floats != 0 ? floats : std::max(integers, 1);
  return std::max(1, traits.vector_bytes / widest);
}

int unroll_factor(const Body& body, bool reduces) {
  int cost = 0;
  int heaviest = 0;
  bool loops_inside = false;
  loops::for_each_statement(body, [&](const Statement& statement) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
      const int one = loops::info(instruction->op).cost;
      cost += one;
      heaviest = std::max(heaviest, one);
    } else if (std::holds_alternative<Loop>(statement.data)) {
      loops_inside = true;
    }
  });
  if (loops_inside) return cost <= 8 ? 2 : 1;
  if (heaviest >= 8 || cost > 16) return 1;
  if (reduces) return cost <= 4 ? 4 : 2;
  return cost <= 4 ? 4 : 2;
}

namespace {

int rate_stride(const SymExpr& index, Symbol variable) {
  const Symbol variables[] = {variable};
  const loops::Affine affine = loops::affine_in(index, variables);
  if (!affine.linear) return -2;
  const SymExpr& stride = affine.coefficient(variable);
  if (stride == SymExpr(1)) return 2;
  return stride == SymExpr(0) ? 0 : -1;
}

}  // namespace

int vector_score(const Body& body, Symbol variable) {
  int score = 0;
  std::vector<Symbol> inner;
  const auto rate = [&](const SymExpr& index, int weight) {
    for (Symbol loop : inner) weight *= index.depends_on(loop) ? 8 : 1;  // others will be hoisted
    score += rate_stride(index, variable) * weight;
  };
  const auto walk = [&](const auto& self, const Body& statements) -> void {
    for (const Statement& statement : statements) {
      if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
        if (instruction->op == ScalarOp::kLoad) rate(instruction->index, 1);
      } else if (const auto* store = std::get_if<Store>(&statement.data)) {
        rate(store->index, 2);
      } else if (const auto* loop = std::get_if<Loop>(&statement.data)) {
        inner.push_back(loop->variable);
        self(self, loop->body);
        inner.pop_back();
      }
    }
  };
  walk(walk, body);
  return score;
}

std::vector<int> nest_scores(const loops::Nest& nest) {
  struct Access {
    const SymExpr* index;
    int weight;
    double elements;
  };
  std::vector<Access> accesses;
  const auto see = [&](const SymExpr& index, int weight) {
    double elements = 1;
    for (const Loop& loop : nest.loops) {
      if (index.depends_on(loop.variable))
        elements *= static_cast<double>(loop.extent.as_constant().value_or(64));
    }
    accesses.push_back({&index, weight, elements});
  };
  for (const Statement& statement : nest.body) {
    if (const auto* load = std::get_if<Instruction>(&statement.data)) {
      if (load->op == ScalarOp::kLoad) see(load->index, 1);
    } else if (const auto* store = std::get_if<Store>(&statement.data)) {
      see(store->index, 2);
    }
  }
  double most = 1;
  for (const Access& access : accesses) most = std::max(most, access.elements);
  std::vector<int> scores;
  for (const Loop& loop : nest.loops) {
    int score = 0;
    for (const Access& access : accesses) {
      const int share = static_cast<int>(16 * access.elements / most);
      score += rate_stride(*access.index, loop.variable) * access.weight * share;
    }
    scores.push_back(score);
  }
  return scores;
}

}  // namespace triptych::mapping
