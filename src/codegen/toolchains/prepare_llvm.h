// The first use of LLVM in a process loads its library, sets up a target and touches much code for
// the first time: some 30 ms that a thread of its own can spend while graphs are being made.
#pragma once

#include <string>

#include "codegen/toolchains/llvm_compiler.h"

namespace triptych::toolchains {

// Starts that thread, the first time in a process; returns at once. Errors show at the first real
// compilation.
void prepare_llvm(const std::string& library, const LlvmTarget& target);

// Waits for the thread, if there is one. To be called before the process ends. A fork waits by
// itself.
void finish_preparing_llvm();

}  // namespace triptych::toolchains
