// The one-line expressions of pointwise ops in the op table, parsed.
//
//   approximate == "tanh" ? 0.5 * self * (1 + tanh(self)) : relu(self)
//
// Grammar, loosest binding first; docs/op_table.md states the meaning:
//   c ? a : b      c must be known while lowering (literal arguments, given(x), floating)
//   ||  &&         on truth values
//   == != < <= > >=
//   + -   * /   unary - !
//   name  number  "string"  (e)  op(e, ...)  given(name)
// `op` is any ScalarOp by its printed name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/loops/scalar_op.h"
#include "support/result.h"

namespace triptych::loops {

struct ExpressionNode {
  enum class Kind : std::uint8_t { kInt, kFloat, kString, kName, kGiven, kOp, kConditional };
  Kind kind = Kind::kInt;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;              // kString, kName, kGiven
  ScalarOp op = ScalarOp::kAdd;  // kOp
  std::array<int, 3> args = {-1, -1, -1};
};

struct Expression {
  std::vector<ExpressionNode> nodes;  // children before parents; the last one is the root

  int root() const { return static_cast<int>(nodes.size()) - 1; }
  // Every name that is read, in order of first appearance.
  std::vector<std::string_view> names() const;
  std::string str() const;  // fully parenthesised; parses back
};

Result<Expression> parse_expression(std::string_view text);

}  // namespace triptych::loops
