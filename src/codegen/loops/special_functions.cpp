#include "codegen/loops/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace triptych::loops {

// Starts from Winitzki's closed approximation and refines by Halley steps on erf.
double erfinv(double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  if (y == 0) return y;
  constexpr double kA = 0.147;
  const double log_term = std::log1p(-y * y);
  const double half = 2 / (std::numbers::pi * kA) + log_term / 2;
  double x = std::copysign(std::sqrt(std::sqrt(half * half - log_term / kA) - half), y);
  for (int step = 0; step < 3; ++step) {
    // Near +-1 erfc keeps the digits that erf loses.
    const double upper = (1 - std::fabs(y)) - std::erfc(std::fabs(x));
    const double error = std::fabs(y) < 0.5 ? std::erf(x) - y : (y < 0 ? -upper : upper);
    const double derivative = 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x);
    if (derivative == 0) break;
    const double newton = error / derivative;
    x -= newton / (1 + x * newton);
  }
  return x;
}

// Recurrence up to 10, then the asymptotic series with Bernoulli numbers.
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // x - trunc(x) is exact, also for the smallest x.
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::trunc(x)));
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  if (std::isinf(x)) return x;
  const double square = 1 / (x * x);
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double tail = 0;
  for (int i = 6; i >= 0; --i) tail = square * (kSeries[i] + tail);
  return sum + std::log(x) - 0.5 / x - tail;
}

// Power series below 20, the asymptotic series above.
double bessel_i0(double x) {
  x = std::fabs(x);
  if (std::isnan(x)) return x;
  if (x < 20) {
    const double quarter = x * x / 4;
    double term = 1;
    double sum = 1;
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= quarter / (static_cast<double>(k) * k);
      sum += term;
    }
    return sum;
  }
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double next = term * (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
    if (next >= term) break;
    term = next;
    sum += term;
  }
  return std::exp(x / 2) * (std::exp(x / 2) / std::sqrt(2 * std::numbers::pi * x)) * sum;
}

}  // namespace triptych::loops
