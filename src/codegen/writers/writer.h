// A writer prints mapped kernels as text in one language; a toolchain (elsewhere) makes it
// launchable.
//
// Every kernel becomes a C function of this shape (the simd family's calling convention):
//   void NAME(void* const* buffers, const int64_t* symbols, int64_t begin, int64_t end,
//             int32_t* error, void* scratch);
// `buffers` follows Kernel::buffers without locals, each pointing at element 0 of the index space;
// [begin, end) is the part of the outermost kParallel loop to run (0, 1 when there is none), both
// multiples of LaunchInfo::chunk_multiple, or the loop's end;
// `scratch` holds the locals, 64-byte aligned, scratch_bytes(kernel) long; `error` is written with
// Check::Code, never cleared.
#pragma once

#include <string>
#include <vector>

#include "codegen/loops/kernel.h"
#include "codegen/mapping/traits.h"

namespace triptych::writers {

struct Module {
  std::string language;  // "llvm", "cpp"
  std::string text;
  std::vector<std::string> entries;    // function names, one per kernel, in order
  std::vector<std::string> externals;  // functions the text calls that the toolchain must resolve
};

class Writer {
 public:
  virtual ~Writer() = default;
  virtual std::string language() const = 0;
  virtual Result<Module> write(const std::vector<loops::Kernel>& kernels,
                               const mapping::Traits& traits) const = 0;
};

}  // namespace triptych::writers
