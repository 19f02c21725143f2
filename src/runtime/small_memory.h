// Memory for small outputs: blocks that each thread keeps for its next calls. Taking one and giving
// it back costs a third of the general allocator, which merges such blocks with their neighbours
// and cuts them anew in every call.
#pragma once

#include <cstdint>

#include <c10/core/Allocator.h>

namespace triptych::runtime {

constexpr std::int64_t kSmallBytes = std::int64_t{128} << 10;  // the largest block that is kept

// At least `bytes` bytes, at most kSmallBytes, aligned for whole vectors. Any thread may drop the
// pointer. A thread keeps at most 3 MiB, until it ends.
c10::DataPtr allocate_small(std::int64_t bytes);

// Gives the calling thread's blocks back.
void trim_small_memory();

}  // namespace triptych::runtime
