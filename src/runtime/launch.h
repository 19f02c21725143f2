// Runs a compiled kernel, in parallel when that pays.
#pragma once

#include <cstdint>

namespace triptych::runtime {

// The simd family's calling convention; see codegen/writers/writer.h.
using KernelFunction = void (*)(void* const* buffers, const std::int64_t* symbols,
                                std::int64_t begin, std::int64_t end, std::int32_t* error,
                                void* scratch);

// Waking the workers costs 0.6 us when they are hot and up to 40 when they sleep: shorter kernels
// stay serial.
constexpr double kSerialNanoseconds = 6000;

struct Launch {
  KernelFunction function = nullptr;
  void* const* buffers = nullptr;
  const std::int64_t* symbols = nullptr;
  std::int64_t extent = 1;          // of the parallel loop
  std::int64_t chunk_multiple = 1;  // parts begin at multiples of this
  double nanoseconds = 0;           // of the whole kernel on one core
  std::int64_t scratch_bytes = 0;   // a running copy needs
};

// Splits [0, extent) among torch's threads; `error` receives the kernel's error word.
void launch(const Launch& what, std::int32_t* error);

}  // namespace triptych::runtime
