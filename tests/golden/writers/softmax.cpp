// Compile with -std=c++20 -O2 -march=native -fwrapv -fno-strict-aliasing -fPIC -shared
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

template <class T>
static inline T highest_of(T a, T b) {  // a NaN wins, of equals the first
  if (b != b) return b;
  return b > a ? b : a;
}

// softmax
extern "C" void softmax(void* const* buffers, const std::int64_t* symbols,
    std::int64_t begin, std::int64_t end, std::int32_t* error, void* scratch) {
  const float* x_ = static_cast<const float*>(buffers[0]);
  float* y_ = static_cast<float*>(buffers[1]);
  float* row_ = reinterpret_cast<float*>(static_cast<char*>(scratch) + 0);
  for (std::int64_t i0 = begin; i0 < end; ++i0) {
    float v1 = -std::numeric_limits<float>::infinity();
    for (std::int64_t i1 = 0; i1 < 1024; ++i1) {
      const float v0 = x_[1024*i0 + i1];
      v1 = highest_of(v1, v0);
    }
    double v5_sum = 0;
    for (std::int64_t i2 = 0; i2 < 1024; ++i2) {
      const float v2 = x_[1024*i0 + i2];
      const float v3 = v2 - v1;
      const float v4 = std::exp(v3);
      row_[i2] = v4;
      v5_sum += v4;
    }
    const float v5 = static_cast<float>(v5_sum);
    const float v6 = 1.0f / v5;
    for (std::int64_t i3 = 0; i3 < 1024; ++i3) {
      const float v7 = row_[i3];
      const float v8 = v7 * v6;
      y_[1024*i0 + i3] = v8;
    }
  }
  static_cast<void>(symbols), static_cast<void>(begin), static_cast<void>(end);
  static_cast<void>(error), static_cast<void>(scratch);
}

