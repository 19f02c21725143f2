#include "codegen/plan/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace triptych::plan {

using ir::SymExpr;

SymExpr align_up(const SymExpr& bytes) {
  if (bytes.is_constant()) {
    return (bytes.constant() + kAlignment - 1) / kAlignment * kAlignment;
  }
  return ceildiv(bytes, kAlignment) * SymExpr(kAlignment);
}

namespace {

// Largest first; ties in the order of the program, so that the result never depends on anything
// else.
std::vector<std::uint32_t> by_size(std::span<const Block> blocks) {
  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return blocks[a].bytes_hint > blocks[b].bytes_hint;
  });
  return order;
}

// The blocks placed so far, ordered by offset.
class Placement {
 public:
  explicit Placement(std::span<const Block> blocks) : blocks_(blocks), offsets_(blocks.size(), 0) {}

  void place(std::uint32_t block) {
    const std::int64_t size = align_up(blocks_[block].bytes).constant();
    const std::int64_t offset = tightest_gap(block, size);
    offsets_[block] = offset;
    end_ = std::max(end_, offset + size);
    if (size == 0) return;
    const auto behind = std::upper_bound(
        placed_.begin(), placed_.end(), offset,
        [&](std::int64_t value, std::uint32_t other) { return value < offsets_[other]; });
    placed_.insert(behind, block);
  }

  std::int64_t offset(std::uint32_t block) const { return offsets_[block]; }
  std::int64_t end() const { return end_; }

 private:
  std::int64_t tightest_gap(std::uint32_t block, std::int64_t size) const {
    std::int64_t best = -1;
    std::int64_t best_slack = 0;
    std::int64_t free_from = 0;
    for (const std::uint32_t other : placed_) {
      if (!blocks_[other].overlaps(blocks_[block])) continue;
      const std::int64_t slack = offsets_[other] - free_from - size;
      if (slack >= 0 && (best < 0 || slack < best_slack)) {
        best = free_from;
        best_slack = slack;
      }
      free_from = std::max(free_from, offsets_[other] + align_up(blocks_[other].bytes).constant());
    }
    return best >= 0 ? best : free_from;
  }

  std::span<const Block> blocks_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint32_t> placed_;
  std::int64_t end_ = 0;
};

MemoryPlan plan_constant(std::span<const Block> blocks) {
  Placement placement(blocks);
  for (const std::uint32_t block : by_size(blocks)) placement.place(block);
  MemoryPlan plan;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) plan.offsets.emplace_back(placement.offset(i));
  plan.arena_bytes = placement.end();
  return plan;
}

struct Region {
  SymExpr bytes;  // aligned
  std::int64_t bytes_hint = 0;
  std::vector<std::uint32_t> members;
};

MemoryPlan plan_symbolic(std::span<const Block> blocks) {
  std::vector<Region> regions;
  std::vector<std::uint32_t> region_of(blocks.size());
  for (const std::uint32_t block : by_size(blocks)) {
    // Blocks come largest first, so a region's first member decides its size at the hints; the
    // tightest free region wins, an equal formula before a larger one.
    std::uint32_t best = static_cast<std::uint32_t>(regions.size());
    for (std::uint32_t r = 0; r < regions.size(); ++r) {
      const bool free = std::none_of(
          regions[r].members.begin(), regions[r].members.end(),
          [&](std::uint32_t member) { return blocks[member].overlaps(blocks[block]); });
      if (free && (best == regions.size() || regions[r].bytes_hint < regions[best].bytes_hint))
        best = r;
    }
    const SymExpr bytes = align_up(blocks[block].bytes);
    if (best == regions.size()) {
      regions.push_back({bytes, blocks[block].bytes_hint, {}});
    } else if (!(regions[best].bytes == bytes)) {
      regions[best].bytes = max(regions[best].bytes, bytes);
    }
    regions[best].members.push_back(block);
    region_of[block] = best;
  }
  std::vector<SymExpr> starts;
  MemoryPlan plan;
  for (const Region& region : regions) {
    starts.push_back(plan.arena_bytes);
    plan.arena_bytes += region.bytes;
  }
  for (const std::uint32_t region : region_of) plan.offsets.push_back(starts[region]);
  return plan;
}

MemoryPlan plan_apart(std::span<const Block> blocks) {
  MemoryPlan plan;
  for (const Block& block : blocks) {
    plan.offsets.push_back(plan.arena_bytes);
    plan.arena_bytes += align_up(block.bytes);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Block> blocks, bool reuse) {
  MemoryPlan apart = plan_apart(blocks);
  if (!reuse) {
    apart.bytes_without_reuse = apart.arena_bytes;
    return apart;
  }
  const bool constant = std::all_of(blocks.begin(), blocks.end(),
                                    [](const Block& block) { return block.bytes.is_constant(); });
  MemoryPlan plan = constant ? plan_constant(blocks) : plan_symbolic(blocks);
  plan.bytes_without_reuse = apart.arena_bytes;
  return plan;
}

}  // namespace triptych::plan
