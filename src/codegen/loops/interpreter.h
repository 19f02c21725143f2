// Runs a kernel over raw memory, one iteration after the other: the executable meaning of kernels.
// Schedules are ignored, so that unmapped and mapped kernels run alike.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/loops/kernel.h"

namespace triptych::loops {

// `buffers[i]` is the data pointer of the kernel's i-th non-local buffer; `symbols` follow
// Kernel::symbols. A failed Check writes its code to `error` and stops the kernel. Fails
// (kInternal) on an access outside a buffer's extent and on a malformed kernel, never by a crash.
Status interpret(const Kernel& kernel, std::span<void* const> buffers,
                 std::span<const std::int64_t> symbols, std::int32_t& error);

}  // namespace triptych::loops
