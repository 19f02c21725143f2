// What eager refuses where an op writes into memory that it is given (`out=`, in-place ops): a
// graph has values instead of memory, and would give an answer.
#pragma once

#include "normalize/tracer/op_entry.h"

namespace triptych::normalize {

// Throws Unsupported where an argument that `op` writes overlaps itself or, in part, another
// argument, so that eager has the say.
void check_written_memory(const OpEntry& op, c10::ArrayRef<c10::IValue> args);

}  // namespace triptych::normalize
