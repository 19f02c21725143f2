// The text form of arguments:
//   None True False 3 1.5 nan -inf complex(1.0, -0.0) "text" torch.float32 torch.strided
//   torch.channels_last device("cuda:0") generator("default") ... s0*s1 + 1 sym(4) %value
//   [1, 2] (1, 2) (1,) {"key": 1} slice(None, s0, 1)
#pragma once

#include <functional>
#include <string>

#include "ir/argument.h"
#include "support/scanner.h"

namespace triptych::ir {

// How %names are read and written; schemas have none.
using ValueParser = std::function<Result<ValueId>(Scanner&)>;  // called behind the '%'
using ValuePrinter = std::function<void(ValueId, std::string&)>;

Result<Argument> parse_literal(Scanner& scanner, const ValueParser& value = nullptr);
void append_literal(const Argument& argument, std::string& out,
                    const ValuePrinter& value = nullptr);

}  // namespace triptych::ir
