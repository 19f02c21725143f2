// What eager refuses where an op writes into memory that it is given (`out=`, in-place ops): a
// graph has values instead of memory, and would give an answer.
#pragma once

#include "normalize/tracer/op_entry.h"
#include "normalize/tracer/symbolic_shapes.h"
#include "normalize/tracer/trace.h"

namespace triptych::normalize {

// Whether two elements of a tensor share memory, as `expand` and some `as_strided` make them: a
// write then depends on the order of elements, which functional ops do not have.
bool overlaps_itself(const at::Tensor& tensor, const SymbolicShapes& shapes);

// Throws Unsupported where an argument that `op` writes overlaps itself or, in part, another
// argument, so that eager has the say; also where it is a view of a view that overlaps itself: what
// is written has no one place in the base's contents.
void check_written_memory(const OpEntry& op, c10::ArrayRef<c10::IValue> args, Trace& trace);

}  // namespace triptych::normalize
