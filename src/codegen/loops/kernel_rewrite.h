// Small rewrites of one kernel that several passes share.
#pragma once

#include "codegen/loops/kernel.h"

namespace triptych::loops {

// Renames loop variables (i0, i1, ... in text order) and scalars (v0, v1, ... in order of
// definition), and with `size_symbols` also those (n0, n1, ...). Kernels that differ only in these
// names become equal.
void canonicalize(Kernel& kernel, bool size_symbols = false);

}  // namespace triptych::loops
