// Memory for large outputs and arenas. Fresh pages cost up to ten times the kernel that fills them,
// and glibc gives blocks of 32 MiB back to the system each time: these blocks are aligned for huge
// pages and reused.
#pragma once

#include <cstdint>

#include <c10/core/Allocator.h>

namespace triptych::runtime {

constexpr std::int64_t kLargeBytes = std::int64_t{4} << 20;

// At least `bytes` bytes; the block goes back to the pool when the pointer is dropped. Thread-safe.
c10::DataPtr allocate_large(std::int64_t bytes);

struct LargeMemoryState {
  std::int64_t used_bytes = 0;    // in tensors alive
  std::int64_t cached_bytes = 0;  // waiting for reuse
};
LargeMemoryState large_memory_state();
// Gives cached blocks back to the system until at most `keep_bytes` remain.
void trim_large_memory(std::int64_t keep_bytes = 0);

}  // namespace triptych::runtime
