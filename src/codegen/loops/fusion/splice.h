// The three ways to put one kernel into another. Each checks legality (L3-L6) and leaves the host
// as it was, up to split loops, when it refuses.
#pragma once

#include "codegen/loops/fusion/legality.h"

namespace triptych::loops {

struct Splice {
  bool done = false;
  std::string why;  // when not done
};

struct SpliceContext {
  const ir::Graph& graph;
  FreshNames& names;
  std::int64_t local_limit = 1 << 18;   // bytes of row-local buffers
  std::int64_t serial_limit = 1 << 16;  // iterations that may lose their parallelism
};

// The pointwise `guest` reads `value`, which the host stores: its body goes behind the store, its
// loops that the value does not have (broadcasting) around it.
Splice splice_epilogue(Group& host, const Group& guest, ValueId value, SpliceContext& context);

// Both load `shared`, the guest is pointwise: its body goes behind the host's first load that meets
// the same elements in the same number of iterations.
Splice splice_sibling(Group& host, const Group& guest, ValueId shared, SpliceContext& context);

// The pointwise `guest` stores what the host loads: its body goes in front of the loads.
struct PrologueOptions {
  bool keep_stores =
      false;  // values of the guest are needed outside: they are stored at one of the places
  bool recompute =
      true;  // every loop of the host that loads computes anew; else a row-local buffer holds it
};
Splice splice_prologue(Group& host, const Group& guest, const PrologueOptions& options,
                       SpliceContext& context);

// Both are row kernels over the same rows: the guest's row goes behind the host's. `shared` is a
// value that the host stores or both load, whose index tells which row is which.
Splice splice_rows(Group& host, const Group& guest, ValueId shared, SpliceContext& context);

// Turns loads of `value`, which the kernel stores at one place, into scalars in scope or loads of a
// row-local buffer (L5). Empty when done, else why not.
std::string hold_in_row(Group& group, ValueId value, SpliceContext& context);

}  // namespace triptych::loops
