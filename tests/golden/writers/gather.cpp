// Compile with -std=c++20 -O2 -march=native -fwrapv -fno-strict-aliasing -fPIC -shared
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

// embedding
extern "C" void embedding(void* const* buffers, const std::int64_t* symbols,
    std::int64_t begin, std::int64_t end, std::int32_t* error, void* scratch) {
  const float* weight_ = static_cast<const float*>(buffers[0]);
  const std::int64_t* tokens_ = static_cast<const std::int64_t*>(buffers[1]);
  float* y_ = static_cast<float*>(buffers[2]);
  for (std::int64_t i0 = begin; i0 < end; ++i0) {
    const std::int64_t v0 = tokens_[i0];
    const std::int64_t v1 = 0;
    const bool v2 = v0 >= v1;
    const std::int64_t v3 = 20;
    const bool v4 = v0 < v3;
    const bool v5 = v2 && v4;
    if (!v5) {
      *error = 1;
      return;
    }
    for (std::int64_t i1 = 0; i1 < 16; ++i1) {
      const float v6 = weight_[i1 + 16*v0];
      y_[16*i0 + i1] = v6;
    }
  }
  static_cast<void>(symbols), static_cast<void>(begin), static_cast<void>(end);
  static_cast<void>(error), static_cast<void>(scratch);
}

