#include "codegen/mapping/launch_info.h"

namespace triptych::mapping {
namespace {

using loops::Kernel;
using loops::Loop;
using loops::Schedule;
using loops::Statement;
using loops::SymExpr;

// Measured sizes, see docs/fusion.md: a scalar addition, and a byte moved through L2 or beyond.
constexpr std::int64_t kUnitPs = 250;
constexpr std::int64_t kBytePs = 40;

constexpr std::int64_t kAlign = 64;

SymExpr body_cost(const Kernel& kernel, const std::vector<Statement>& body, int lanes) {
  SymExpr cost;
  for (const Statement& statement : body) {
    if (const auto* loop = std::get_if<Loop>(&statement.data)) {
      // A parallel loop's extent is what the launcher divides: its iterations are counted there.
      const int inner = lanes * loop->width;
      const SymExpr one =
          body_cost(kernel, loop->body, inner) +
          SymExpr(static_cast<std::int64_t>(loop->reductions.size()) * kUnitPs / inner);
      cost += loop->schedule == Schedule::kParallel ? one : loop->extent * one;
    } else if (const auto* instruction = std::get_if<loops::Instruction>(&statement.data)) {
      if (instruction->op == loops::ScalarOp::kLoad) {
        cost += SymExpr(ir::dtype_bytes(instruction->dtype) * kBytePs);
      } else {
        cost += SymExpr(info(instruction->op).cost * kUnitPs / lanes);
      }
    } else if (const auto* store = std::get_if<loops::Store>(&statement.data)) {
      cost += SymExpr(ir::dtype_bytes(kernel.buffers[store->buffer].dtype) * kBytePs);
    }
  }
  return cost;
}

SymExpr aligned_bytes(const loops::Buffer& buffer) {
  const SymExpr bytes = buffer.extent * SymExpr(ir::dtype_bytes(buffer.dtype));
  return ceildiv(bytes, SymExpr(kAlign)) * SymExpr(kAlign);
}

}  // namespace

LaunchInfo launch_info(const Kernel& mapped) {
  LaunchInfo result;
  result.parallel_extent = SymExpr(1);
  for (const Statement& statement : mapped.body) {
    const auto* loop = std::get_if<Loop>(&statement.data);
    if (loop == nullptr || loop->schedule != Schedule::kParallel) continue;
    result.parallel_extent = loop->extent;
    result.chunk_multiple = loop->width * loop->unroll;
  }
  result.iteration_cost_ps = body_cost(mapped, mapped.body, 1);
  for (const loops::Buffer& buffer : mapped.buffers) {
    if (buffer.kind == loops::Buffer::Kind::kLocal) result.scratch_bytes += aligned_bytes(buffer);
  }
  return result;
}

std::vector<SymExpr> local_offsets(const Kernel& kernel) {
  std::vector<SymExpr> offsets;
  SymExpr next;
  for (const loops::Buffer& buffer : kernel.buffers) {
    if (buffer.kind != loops::Buffer::Kind::kLocal) continue;
    offsets.push_back(next);
    next += aligned_bytes(buffer);
  }
  return offsets;
}

}  // namespace triptych::mapping
