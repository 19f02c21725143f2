#include "codegen/plan/kernel_work.h"

#include "codegen/plan/memory_plan.h"

namespace triptych::plan {

using ir::SymExpr;

namespace {

SymExpr work_of(const std::vector<loops::Statement>& body) {
  std::int64_t straight = 0;
  SymExpr nested;
  for (const loops::Statement& statement : body) {
    if (const auto* instruction = std::get_if<loops::Instruction>(&statement.data)) {
      const bool free = instruction->op == loops::ScalarOp::kConstant ||
                        instruction->op == loops::ScalarOp::kIndex;
      straight += free ? 0 : std::max(1, loops::info(instruction->op).cost);
    } else if (const auto* loop = std::get_if<loops::Loop>(&statement.data)) {
      const auto combines = static_cast<std::int64_t>(loop->reductions.size());
      nested += loop->extent * (work_of(loop->body) + SymExpr(combines));
    } else {
      straight += 1;
    }
  }
  return nested + SymExpr(straight);
}

}  // namespace

SymExpr kernel_work(const loops::Kernel& kernel) { return work_of(kernel.body); }

const loops::Loop* parallel_loop(const loops::Kernel& kernel) {
  for (const loops::Statement& statement : kernel.body) {
    const auto* loop = std::get_if<loops::Loop>(&statement.data);
    if (loop != nullptr && loop->schedule == loops::Schedule::kParallel) return loop;
  }
  return nullptr;
}

SymExpr scratch_bytes(const loops::Kernel& kernel) {
  SymExpr bytes;
  for (const loops::Buffer& buffer : kernel.buffers) {
    if (buffer.kind != loops::Buffer::Kind::kLocal) continue;
    bytes += align_up(buffer.extent * SymExpr(ir::dtype_bytes(buffer.dtype)));
  }
  return bytes;
}

}  // namespace triptych::plan
