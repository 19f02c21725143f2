// What becomes of each op of the table: generated code, parts, an external call, or eager
// execution.
#pragma once

#include <string>
#include <vector>

namespace triptych::ops {

struct OpStatus {
  std::string name, set;  // "core" or empty
  std::string status;     // "lowered", "decomposed", "external", "fallback"
  std::string how;        // the expression, the function, or the reason
};
std::vector<OpStatus> op_statuses();

}  // namespace triptych::ops
