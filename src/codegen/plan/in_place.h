// May a kernel's output live in the memory of one of its inputs?
#pragma once

#include "codegen/loops/kernel.h"

namespace triptych::plan {

// True when every load of `read` happens before the store to `written` that would overwrite it:
//  1. both buffers have elements of one width;
//  2. each load's index is each store's index, the loop variables below their common loops renamed
//  in order
//     (same extents), so that equal elements meet in one iteration of the common loops (stores
//     never collide, rule 4 of kernel.h);
//  3. within that iteration the load's statement stands before the store's.
bool may_share_memory(const loops::Kernel& kernel, loops::BufferId read, loops::BufferId written);

}  // namespace triptych::plan
