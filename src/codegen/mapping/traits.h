// What mapping and profitability may know about a machine. Given as data; shared code never asks
// for names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace triptych::mapping {

enum class Family : std::uint8_t { kSimd, kSimt, kTile };

struct Traits {
  Family family = Family::kSimd;
  // simd
  int vector_bytes = 32;  // 16, 32 or 64
  int vector_registers = 16;
  bool masked_memory = false;  // masked loads and stores in hardware
  bool bf16_convert = false;   // f32 -> bf16 instruction that keeps denormals, as eager does
  bool fma = true;
  std::int64_t l1_bytes = 32 << 10;
  std::int64_t l2_bytes = 1 << 20;
  std::int64_t streaming_store_bytes = 0;  // outputs at least this large bypass caches; 0: never
  std::string cpu;                         // for the toolchain: target name and features
  std::string features;
};

}  // namespace triptych::mapping
