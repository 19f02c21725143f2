// The memory plan of a program as a table for people.
#pragma once

#include <string>

#include "codegen/plan/program.h"

namespace triptych::plan {

// One line per arena slot: bytes from where to where, the steps between which it lives, who it is;
// then the outputs, the external results and the totals.
std::string memory_report(const Program& program);

}  // namespace triptych::plan
