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

// Conversions between float and the 16-bit formats, on bit patterns. Exact, round to nearest even.


namespace triptych {

inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fc0;  // NaN
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

inline float f16_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU;
  const std::uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa * 2^-24, exact in float.
  const float magnitude = static_cast<float>(mantissa) * std::bit_cast<float>(0x33800000U);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U)
    return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to infinity
  if (magnitude < 0x38800000U) {
    // Subnormal or zero: adding 0.5 leaves mantissa * 2^-24, rounded to even, in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

}  // namespace triptych

// mul, relu
extern "C" void relu_scale(void* const* buffers, const std::int64_t* symbols,
    std::int64_t begin, std::int64_t end, std::int32_t* error, void* scratch) {
  const std::int64_t s0 = symbols[0];
  const std::uint16_t* x_ = static_cast<const std::uint16_t*>(buffers[0]);
  const float* scale_ = static_cast<const float*>(buffers[1]);
  std::uint16_t* y_ = static_cast<std::uint16_t*>(buffers[2]);
  for (std::int64_t i0 = begin; i0 < end; ++i0) {
    const std::uint16_t v0 = x_[i0];
    const float v1 = triptych::bf16_to_float(v0);
    const float v2 = scale_[0];
    const float v3 = v1 * v2;
    const float v4 = 0.0f;
    const float v5 = highest_of(v3, v4);
    const std::uint16_t v6 = triptych::float_to_bf16(v5);
    y_[i0] = v6;
  }
  static_cast<void>(symbols), static_cast<void>(begin), static_cast<void>(end);
  static_cast<void>(error), static_cast<void>(scratch);
}

