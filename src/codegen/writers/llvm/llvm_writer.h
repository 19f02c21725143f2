// Kernels as one module of LLVM IR text with explicit vectors of the machine's width. The text is
// meant for code generation as it stands: invariants are hoisted, addresses are base plus index, no
// pass is needed.
#pragma once

#include "codegen/writers/writer.h"

namespace triptych::writers {

class LlvmWriter : public Writer {
 public:
  std::string language() const override { return "llvm"; }
  Result<Module> write(const std::vector<loops::Kernel>& kernels,
                       const mapping::Traits& traits) const override;
};

}  // namespace triptych::writers
