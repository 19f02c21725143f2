// A kernel while it grows by fusion.
#pragma once

#include <string>
#include <vector>

#include "codegen/loops/fusion/sites.h"
#include "codegen/loops/loop_program.h"

namespace triptych::loops {

using ir::ValueId;

struct Group {
  Kernel kernel;
  std::vector<ValueId> values;  // parallel to kernel.buffers; invalid for locals
  bool pointwise = false;       // one perfect loop nest around straight-line code
  bool has_checks = false;

  BufferId find(ValueId value) const;  // invalid when not a buffer of the kernel
  bool writes(ValueId value) const;
  bool reads(ValueId value) const;
};

Group make_group(KernelItem item);
void classify(Group& group);  // sets pointwise and has_checks

// The perfect nest of a pointwise kernel (or the outer loops of any other).
struct NestView {
  std::vector<const Loop*> loops;
  const Body* body = nullptr;
};
NestView outer_nest(const Kernel& kernel);

// Names for new loops, unique in a whole fusion run.
class FreshNames {
 public:
  Symbol loop() { return Symbol("f" + std::to_string(next_++)); }

 private:
  std::size_t next_ = 0;
};

// Splits the loop over `variable` into one of extent/inner and one of `inner` iterations.
bool split_loop(Kernel& kernel, Symbol variable, const SymExpr& inner, FreshNames& names);

// Brings statements of one kernel into another: buffers by graph value, scalars and loop variables
// renamed.
class Importer {
 public:
  Importer(Group& host, const Group& guest, FreshNames& names);

  void map_variable(Symbol guest, SymExpr value) {
    symbols_.insert_or_assign(guest, std::move(value));
  }
  void map_scalar(ScalarId guest, ScalarId host);
  SymExpr index(const SymExpr& guest) const;
  BufferId buffer(BufferId guest);
  ScalarId scalar(ScalarId guest) const;
  // A fresh host scalar for the guest's; from now on scalar(guest) gives it.
  ScalarId define(ScalarId guest);
  // Renamed copy of one statement (with everything inside, loops under fresh names).
  Statement import(const Statement& statement);

 private:
  Group& host_;
  const Group& guest_;
  FreshNames& names_;
  std::vector<BufferId> buffers_;
  std::vector<ScalarId> scalars_;
  std::map<Symbol, SymExpr> symbols_;
};

// Replaces uses of scalars (also as index symbols) everywhere.
void replace_scalars(Kernel& kernel, const std::map<ScalarId, ScalarId>& replacements);

}  // namespace triptych::loops
