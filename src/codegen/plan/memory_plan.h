// Places blocks of memory with known lifetimes into one arena.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/sym_expr.h"

namespace triptych::plan {

// Memory that must hold its content from step `first` (written) to step `last` (last read), both
// included.
struct Block {
  ir::SymExpr bytes;
  std::int64_t bytes_hint = 0;  // `bytes` at the hint sizes; equal to it when constant
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool overlaps(const Block& other) const { return first <= other.last && other.first <= last; }
};

struct MemoryPlan {
  std::vector<ir::SymExpr> offsets;  // one per block, multiples of kAlignment
  ir::SymExpr arena_bytes;
  ir::SymExpr bytes_without_reuse;
};

constexpr std::int64_t kAlignment = 64;
ir::SymExpr align_up(const ir::SymExpr& bytes);

// Constant sizes: largest block first, each into the tightest gap that its lifetime leaves.
// Symbolic sizes: blocks share regions whose size is the largest of their members, so that every
// offset is a formula. Deterministic; O(n^2) in the number of blocks.
MemoryPlan plan_memory(std::span<const Block> blocks, bool reuse = true);

}  // namespace triptych::plan
