// Relations between sizes, evaluated at each call: small programs over 64-bit integers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace triptych::capture {

class SizeRelations {
 public:
  // `names` are the symbols; a value has its symbol's index. Symbols that are not among them make
  // the relation false.
  SizeRelations(const std::vector<ir::SymGuard>& relations, const std::vector<std::string>& names);

  // The index of the first that does not hold; -1: all do.
  int first_broken(const std::int64_t* symbols) const;
  std::string text(int relation) const { return texts_[static_cast<std::size_t>(relation)]; }
  bool empty() const { return relations_.empty(); }
  std::size_t size() const { return relations_.size(); }

 private:
  enum class Op : std::uint8_t { kConstant, kSymbol, kAdd, kMultiply, kFloorDiv, kMod, kMin, kMax };
  struct Code {
    Op op;
    std::int64_t value;
  };
  struct Relation {
    ir::SymGuard::Kind kind;
    std::vector<Code> left, right;
    bool known = true;  // every symbol is
  };

  static bool evaluate(const std::vector<Code>& codes, const std::int64_t* symbols,
                       std::int64_t* stack, std::int64_t& value);
  static std::size_t depth_of(const std::vector<Code>& codes);
  static bool apply(Op op, std::int64_t a, std::int64_t b, std::int64_t& value);
  static bool compile(const ir::SymExpr& expr, const std::vector<std::string>& names,
                      std::vector<Code>& codes);

  std::vector<Relation> relations_;
  std::vector<std::string> texts_;
  std::size_t deepest_ = 0;  // stack of any of the programs
};

}  // namespace triptych::capture
