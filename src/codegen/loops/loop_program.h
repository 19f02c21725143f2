// What lowering makes of a graph and what fusion and mapping rewrite: kernels bound to graph
// values, external calls and views, in an order that runs.
//
// Rules:
//  1. Every value that an item reads is an input, a constant, or a result of an earlier item.
//  2. A value is the result of exactly one item (kernel outputs, external results, a view, a
//  symbolic scalar).
//  3. Values that nothing reads any more have no item (dead work is dropped by fusion).
//  4. External items keep the graph's order among themselves when one of them is random or has an
//  effect.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "codegen/loops/kernel.h"
#include "ir/graph.h"

namespace triptych::loops {

// Runs `kernel`; buffers[i] is the graph value behind the kernel's i-th non-local buffer. The data
// pointer that the kernel gets is the value's own (storage_offset applied).
struct KernelItem {
  Kernel kernel;
  std::vector<ir::ValueId> buffers;
};

// Runs the op of `node` by ATen. `reason` says why it is not a kernel ("op table: external", ...).
struct ExternalItem {
  ir::NodeId node;
  std::string reason;
};

// `value` is the as_strided view, by its own type, of the storage that holds `base`. Costs nothing
// at run time. Kernels may read `value` or go to `base` by index arithmetic, as lowering likes.
struct ViewItem {
  ir::ValueId value;
  ir::ValueId base;
};

using Item = std::variant<KernelItem, ExternalItem, ViewItem>;

struct LoopProgram {
  ir::Graph graph;  // as given, plus values that mapping adds (workspace of split reductions)
  std::vector<Item> items;
};

std::string print(const LoopProgram& program);

}  // namespace triptych::loops
