// When two kernels may become one. Knows no device. The rules, as docs/fusion.md numbers and
// explains them:
//  L1 order       every other item that one of the two needs runs before both, every item that
//  needs one of them
//                 after both (no cycle through a third item)
//  L2 effects     external calls are never fused or moved; a kernel with checks does not move
//  across a call that
//                 is random or has an effect
//  L3 elements    an iteration of the reader reads exactly elements that the shared iteration has
//  written L4 once        every iteration of both kernels runs exactly once, except pure work that
//  is recomputed on purpose L5 in scope    a fused kernel never loads what it stores: such a load
//  becomes a scalar in scope or a row-local
//                 buffer
//  L6 loops       a loop with reductions is not split, and no loop is added inside one
// Every predicate returns an empty string when the rule holds, else why not.
#pragma once

#include "codegen/loops/fusion/group.h"
#include "ir/graph.h"

namespace triptych::loops {

// L1 as positions in the current order: `earliest` < p < `latest`.
struct OrderWindow {
  double earliest, latest;
};
std::string check_order(const OrderWindow& window);
// L2: no barrier strictly between the kernel's old and new place.
std::string check_effects(bool has_checks, double from, double to,
                          const std::vector<double>& barriers);
// L3 and L4 for a pointwise reader: its index of the value runs over all `elements` once per other
// iteration.
std::string check_covers(const std::vector<Dim>& dims, const SymExpr& elements);
// L5: every load of a stored buffer is gone.
std::string check_no_reload(const Kernel& kernel);

SymExpr element_count(const ir::Graph& graph, ValueId value);

}  // namespace triptych::loops
