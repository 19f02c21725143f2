// One piece of work on expressions under given ranges: proofs and simplification. It remembers what
// it found out, so that an atom which many terms share is looked at once, and its steps are
// limited: a search that would go on longer gives "not proven" or the expression as it is, which is
// always right. Steps are counted, not timed, so that the same expression always gets the same
// answer. For the sym_*.cpp files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "ir/sym_expr.h"
#include "ir/sym_node.h"

namespace triptych::ir {

struct AtomHash {
  std::size_t operator()(const AtomPtr& atom) const { return atom->hash; }
};
struct AtomEqual {
  bool operator()(const AtomPtr& a, const AtomPtr& b) const {
    return a == b || (a->hash == b->hash && compare_atoms(*a, *b) == 0);
  }
};
template <typename Value>
using AtomMap = std::unordered_map<AtomPtr, Value, AtomHash, AtomEqual>;

class SymProof {
 public:
  explicit SymProof(const SymRanges& ranges) : ranges_(ranges) {}
  SymProof(const SymProof&) = delete;

  const SymRanges& ranges() const { return ranges_; }
  std::size_t steps() const { return steps_; }
  // False when the steps are used up.
  bool spend(std::size_t steps);
  bool spend_on(const SymExpr& e) { return spend(1 + SymNode::size_of(e)); }

  SymRange range(const SymExpr& e);
  // Is e >= 0 for all values in the ranges? Also uses loop extents. false: not proven.
  bool nonnegative(const SymExpr& e);
  std::optional<bool> le(const SymExpr& a, const SymExpr& b);

  AtomMap<SymExpr>& simplified() { return simplified_; }

 private:
  SymRange atom_range(const AtomPtr& atom);
  SymRange monomial_range(const Monomial& term);
  bool prove(const SymExpr& e, int depth);
  bool prove_at_loop_end(const SymExpr& e, int depth);
  bool prove_without_floordiv(const SymExpr& e, int depth);
  bool prove_from_lower_ends(const SymExpr& e);
  SymExpr measured_from_lower_ends(const SymExpr& e);
  bool interval_is_exact(const SymExpr& e) const;

  struct ExprHash {
    std::size_t operator()(const SymExpr& e) const { return e.hash(); }
  };

  const SymRanges& ranges_;
  std::size_t steps_ = 0;        // of all the work
  std::size_t proof_steps_ = 0;  // of the proof under way
  AtomMap<SymRange> atom_ranges_;
  AtomMap<SymExpr> simplified_;
  // Met by the proof under way, with the depth that was left.
  std::unordered_map<SymExpr, int, ExprHash> unproven_;
};

SymExpr simplify(const SymExpr& e, SymProof& proof);

}  // namespace triptych::ir
