// The other half of a split reduction: results of its parts, from workspaces, become one.
#pragma once

#include <vector>

#include "codegen/loops/loop_tree.h"

namespace triptych::mapping {

struct Partial {
  loops::Reduction reduction;               // of the whole; its results are defined here
  std::vector<loops::BufferId> workspaces;  // one per result, of every part
};

struct Parts {
  loops::Symbol variable;  // of the loop over parts
  loops::SymExpr count;
  loops::SymExpr length;  // of the part `variable`, may be 0 for late ones
  loops::SymExpr total;   // elements of all parts
  loops::SymExpr index;   // of the part's result in the workspaces
};

// What the workspaces hold: for a reduction with one result, that; for argmin and argmax the value
// and its position in the whole; for Welford the mean and the sum of squared deviations.
//
//   sum, max, ...: the reduction again
//   argmax:        m = max v_i,          p = min of p_i where v_i = m (or both are NaN)
//   Welford:       mean = sum n_i mean_i / n,  m2 = sum of m2_i + n_i (mean_i - mean)^2
loops::Body merge_parts(loops::Kernel& kernel, const std::vector<Partial>& partials,
                        const Parts& parts);

}  // namespace triptych::mapping
