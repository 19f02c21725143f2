// The text form of value types:
//   f32[2, s0, 64]                         contiguous, on the CPU
//   f32[2, 3] strides=[1, 2] offset=4 device="cuda:0" requires_grad
//   int int(2*s0) float bool none object("torch.Size")
#pragma once

#include <string>

#include "ir/graph.h"
#include "support/scanner.h"

namespace triptych::ir {

void append_type(const ValueType& type, std::string& out);
void append_tensor_type(const TensorType& type, std::string& out);
Result<ValueType> parse_type(Scanner& scanner);
Result<TensorType> parse_tensor_type(Scanner& scanner);

// Row-major strides as eager gives them: a size of 0 counts as 1.
std::vector<SymExpr> contiguous_strides(const std::vector<SymExpr>& sizes);

// A word of a text form: bare when it has no blanks, quotes or brackets, else quoted.
void append_word(std::string_view word, std::string& out);
Result<std::string> parse_word(Scanner& scanner);

}  // namespace triptych::ir
