// A kernel over rows reads a row in its first loop; the loops behind compute on what now lies in
// the nearest cache, and memory has nothing to do. So the first of them that is as long as the one
// that read also asks for the next row, element by element.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "codegen/writers/llvm/scope.h"

namespace triptych::writers::llvm {

class RowPrefetch {
 public:
  explicit RowPrefetch(Scope& scope) : scope_(scope) {}

  // Around the body of a serial loop that is in no vector loop.
  void enter_row(const loops::Loop& loop) { rows_.push_back({loop.variable, {}, {}}); }
  void leave_row() { rows_.pop_back(); }

  // Around a vector loop.
  void begin(const loops::Loop& loop);
  void end(const loops::Loop& loop);
  // At the start of each of its iterations.
  void print();

 private:
  struct Read {
    BufferId buffer;
    SymExpr next;  // the index, in the row behind
    const loops::Loop* loop;
  };
  struct Row {
    Symbol variable;
    std::vector<Read> reads;
    std::set<BufferId> seen;
  };
  void note(Row& row, const loops::Loop& loop, BufferId buffer, const SymExpr& index);

  Scope& scope_;
  std::vector<Row> rows_;
  std::vector<std::pair<BufferId, SymExpr>> asked_for_;
};

}  // namespace triptych::writers::llvm
