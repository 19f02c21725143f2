// One mapped kernel as an LLVM IR function with the calling convention of writers/writer.h.
#pragma once

#include <string>

#include "codegen/loops/kernel.h"
#include "codegen/mapping/traits.h"
#include "codegen/writers/llvm/ir_text.h"

namespace triptych::writers::llvm {

struct FunctionText {
  std::string text;
  Code::Needs needs;
};

// Fails (kUnsupported) on a dtype that LLVM code has no form for.
Result<FunctionText> write_function(const loops::Kernel& kernel, const mapping::Traits& traits);

}  // namespace triptych::writers::llvm
