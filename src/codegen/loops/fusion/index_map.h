// Which iterations of one loop nest touch the element that an iteration of another nest touches.
//
//   guest:  for i in 4096 { ... %t[i] ... }                         dims: i (extent 4096, stride 1)
//   host:   for r in 64 { for c in 64 { ... %t[64*r + c] ... } }
//   answer: i = 64*r + c
//
// The other way round (guest r, c; host i) the answer is not linear until the host's loop is split
// at 64: then i = 64*i' + i'' and r = i', c = i''.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/loops/affine.h"

namespace triptych::loops {

struct Dim {
  Symbol variable;
  SymExpr extent;
  SymExpr stride;
};

struct IndexMap {
  bool ok = false;
  std::vector<std::pair<Symbol, SymExpr>> values;  // per guest dim, linear in the host's variables
  struct Split {
    Symbol variable;
    SymExpr inner;
  };
  std::optional<Split> split;  // not ok, but would be after splitting this host loop so
  std::string why;             // when not ok
};

// Solves offset + sum(stride * variable) == target for the guest's variables, for every host
// iteration. `host` are the loops that target may vary over (their strides are ignored). Every
// value stays below its dim's extent. `in_bounds`: target is known to be one of the guest's sums
// (both sides index one whole value), so that a single dim of stride 1 needs no proof, whatever the
// target is made of.
IndexMap solve_index(std::vector<Dim> guest, const SymExpr& offset, const SymExpr& target,
                     const std::vector<Dim>& host, bool in_bounds = false);

// Largest stride first; nullopt when two strides cannot be compared.
std::optional<std::vector<Dim>> sorted_dims(std::vector<Dim> dims);
// Whether different variables give different sums, so that a sum names one iteration.
bool is_injective(const std::vector<Dim>& sorted);
// Whether the sums are exactly 0, 1, ..., product of extents - 1.
bool is_dense(const std::vector<Dim>& sorted);
SymExpr iterations(const std::vector<Dim>& dims);

}  // namespace triptych::loops
