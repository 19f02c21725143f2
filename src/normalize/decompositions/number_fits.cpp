#include "normalize/decompositions/number_fits.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/_assert_async.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/real.h>

#include <limits>

#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

struct Range {
  Scalar low, high;
};

// Of the numbers that fit; a negative integer may wrap around once in an unsigned one.
Range range_of(at::ScalarType dtype, bool of_integers) {
  Range range;
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, dtype, "range_of", [&] {
    using Limits = std::numeric_limits<scalar_t>;
    if constexpr (Limits::is_integer) {
      const auto high = static_cast<int64_t>(Limits::max());
      const auto low = static_cast<int64_t>(Limits::lowest());
      range = {!Limits::is_signed && of_integers ? -high : low, high};
    } else {
      range = {static_cast<double>(Limits::lowest()), static_cast<double>(Limits::max())};
    }
  });
  return range;
}

at::ScalarType real_dtype(at::ScalarType dtype) { return c10::toRealValueType(dtype); }

bool always_fits(at::ScalarType from, at::ScalarType to) {
  if (from == to || from == at::kBool || to == at::kBool) return true;
  if (c10::isComplexType(to)) return always_fits(real_dtype(from), real_dtype(to));
  if (c10::isComplexType(from)) return false;
  if (c10::isFloatingType(from) && !c10::isFloatingType(to)) return false;
  const bool integers = c10::isIntegralType(from, /*includeBool=*/true);
  const Range given = range_of(from, /*of_integers=*/false);
  const Range wanted = range_of(to, integers);
  return given.low.toDouble() >= wanted.low.toDouble() &&
         given.high.toDouble() <= wanted.high.toDouble();
}

Tensor fits(const Tensor& number, at::ScalarType dtype) {
  if (number.is_complex()) {
    const Tensor imaginary = at::imag(number);
    const Tensor rest = c10::isComplexType(dtype) ? fits(imaginary, dtype) : at::eq(imaginary, 0);
    return at::logical_and(fits(at::real(number), dtype), rest);
  }
  const at::ScalarType to = real_dtype(dtype);
  const bool floats = c10::isFloatingType(to) || number.is_floating_point();
  const Tensor wide = to_dtype(number, floats ? at::kDouble : at::kLong);
  const Range range = range_of(to, is_integral(number));
  const Tensor inside = at::logical_and(at::ge(wide, range.low), at::le(wide, range.high));
  if (!c10::isFloatingType(to)) return inside;
  return at::logical_or(inside, at::logical_or(at::isinf(wide), at::isnan(wide)));
}

// Eager's own words, for a number that never fits.
std::string refusal(at::ScalarType dtype) {
  const double huge = std::numeric_limits<double>::max();
  const Scalar number = c10::complex<double>(huge, huge);
  try {
    AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(at::kHalf, at::kBFloat16, dtype, "refusal",
                                           [&] { static_cast<void>(number.to<scalar_t>()); });
  } catch (const std::exception& error) {
    return error.what();
  }
  return "value cannot be converted without overflow";
}

}  // namespace

void assert_fits(const Tensor& number, at::ScalarType dtype) {
  if (always_fits(number.scalar_type(), dtype)) return;
  at::_assert_async(fits(number, dtype), refusal(dtype));
}

}  // namespace triptych::normalize
