// The symbols of one trace: their hints and ranges, and the guards that the trace made on them.
// SymInts handed to torch are nodes of ours over ir::SymExpr, so that no Python and no sympy is
// involved in shape arithmetic.
//
// Every symbol is assumed to be at least 2 (sizes 0 and 1 are specialised), which is a guard in
// itself.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <c10/core/SymInt.h>

#include "ir/graph.h"

namespace triptych::normalize {

class SymbolicShapes : public std::enable_shared_from_this<SymbolicShapes> {
 public:
  // The same name gives the same symbol; its hint is the one given first.
  c10::SymInt symbol(std::string_view name, std::int64_t hint);
  c10::SymInt sym_int(const ir::SymExpr& e);          // a plain integer when e is constant
  static ir::SymExpr expr(const c10::SymInt& value);  // throws for a foreign node

  std::int64_t hint(const ir::SymExpr& e) const;
  // The value at the hints, with a guard that it stays so.
  std::int64_t specialize(const ir::SymExpr& e, std::string_view reason);
  // e, or its value where e has grown so large that all work on it would take long.
  ir::SymExpr bounded(ir::SymExpr e);
  ir::SymExpr bounded_product(const ir::SymExpr& a, const ir::SymExpr& b);
  // Adds guards that are not provable from the ranges. Throws when the trace has ended.
  void guard(const std::vector<ir::SymGuard>& facts, std::string_view reason);

  // Which way `a kind b` goes at the hints. The facts that make it so are appended when they are
  // not provable.
  bool decide(ir::SymGuard::Kind kind, const ir::SymExpr& a, const ir::SymExpr& b,
              std::vector<ir::SymGuard>& facts) const;
  std::optional<bool> known(ir::SymGuard::Kind kind, const ir::SymExpr& a,
                            const ir::SymExpr& b) const;

  void close() { closed_ = true; }  // the trace is over: no more guards
  bool closed() const { return closed_; }
  const std::vector<ir::SymbolInfo>& symbols() const { return symbols_; }
  const std::vector<ir::SymGuard>& guards() const { return guards_; }
  const ir::SymRanges& ranges() const { return ranges_; }
  int specialized() const { return specialized_; }

 private:
  std::vector<ir::SymbolInfo> symbols_;
  std::map<ir::Symbol, std::int64_t> hints_;
  ir::SymRanges ranges_;
  std::vector<ir::SymGuard> guards_;
  std::set<std::string> seen_;  // guards already recorded, as text
  int specialized_ = 0;
  bool closed_ = false;
};

}  // namespace triptych::normalize
