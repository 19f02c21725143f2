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

int vector_score(const Body& body, Symbol variable) {
  int score = 0;
  const Symbol variables[] = {variable};
  const auto rate = [&](const SymExpr& index, int weight) {
    const loops::Affine affine = loops::affine_in(index, variables);
    if (!affine.linear) {
      score -= 2 * weight;
      return;
    }
    const SymExpr& stride = affine.coefficient(variable);
    if (stride == SymExpr(1)) {
      score += 2 * weight;
    } else if (stride != SymExpr(0)) {
      score -= weight;
    }
  };
  const auto walk = [&](const auto& self, const Body& statements, int weight) -> void {
    for (const Statement& statement : statements) {
      if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
        if (instruction->op == ScalarOp::kLoad) rate(instruction->index, weight);
      } else if (const auto* store = std::get_if<Store>(&statement.data)) {
        rate(store->index, 2 * weight);
      } else if (const auto* loop = std::get_if<Loop>(&statement.data)) {
        self(self, loop->body, weight * 8);  // inner accesses run more often
      }
    }
  };
  walk(walk, body, 1);
  return score;
}

}  // namespace triptych::mapping
