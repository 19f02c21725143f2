// Many symbolic integers evaluated together: expressions compiled to a flat stack program, once,
// and run when the symbols' values change.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ir/sym_expr.h"

namespace triptych::plan {

class SymProgram {
 public:
  explicit SymProgram(std::span<const ir::Symbol> symbols);

  // Returns the expression's place among the results. Equal expressions share one.
  std::uint32_t add(const ir::SymExpr& expr);
  std::uint32_t find(const ir::SymExpr& expr) const;  // checks that it was added
  std::size_t size() const { return ends_.size(); }
  bool constant() const { return constant_; }  // no expression depends on a symbol

  // values[i] belongs to the i-th symbol; results has size() elements. False when a divisor is
  // zero or a number does not fit 64 bits.
  bool evaluate(std::span<const std::int64_t> values, std::span<std::int64_t> results) const;

 private:
  enum class Code : std::uint8_t { kConstant, kSymbol, kAdd, kMul, kFloorDiv, kMod, kMin, kMax };
  struct Instruction {
    Code code;
    std::int64_t operand;
  };
  void compile(const ir::SymExpr& expr);

  std::map<ir::Symbol, std::int64_t> symbols_;
  std::map<std::string, std::uint32_t> known_;
  std::vector<Instruction> code_;
  std::vector<std::uint32_t> ends_;  // result i is computed by code_[ends_[i-1], ends_[i])
  bool constant_ = true;
};

}  // namespace triptych::plan
