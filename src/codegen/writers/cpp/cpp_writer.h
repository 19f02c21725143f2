// Kernels as one readable C++20 source file that needs nothing but the standard library: for
// reading, debugging, ahead-of-time packages, and machines without LLVM. Plain loops; schedules
// other than kParallel are ignored. To be compiled with -fwrapv -fno-strict-aliasing (buffers of a
// program share memory).
#pragma once

#include "codegen/writers/writer.h"

namespace triptych::writers {

class CppWriter : public Writer {
 public:
  std::string language() const override { return "cpp"; }
  Result<Module> write(const std::vector<loops::Kernel>& kernels,
                       const mapping::Traits& traits) const override;
};

}  // namespace triptych::writers
