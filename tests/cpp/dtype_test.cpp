#include "ir/dtype.h"

#include <string>

#include <doctest/doctest.h>

#include "support/result.h"

using namespace triptych::ir;

namespace {

std::string promoted(std::string_view a, std::string_view b) {
  const DType x = parse_dtype(a).value(), y = parse_dtype(b).value();
  CHECK(promote(x, y) == promote(y, x));
  return std::string(dtype_name(promote(x, y)));
}

}  // namespace

TEST_CASE("promotion is torch.promote_types") {
  CHECK(promoted("bool", "u8") == "u8");
  CHECK(promoted("u8", "i8") == "i16");
  CHECK(promoted("u8", "i64") == "i64");
  CHECK(promoted("i64", "f16") == "f16");
  CHECK(promoted("f16", "bf16") == "f32");
  CHECK(promoted("f32", "f64") == "f64");
  CHECK(promoted("f64", "c64") == "c128");
  CHECK(promoted("f32", "c32") == "c64");
  CHECK(promoted("f16", "c32") == "c32");
  CHECK(promoted("bf16", "c32") == "c64");
  CHECK(promoted("i32", "c64") == "c64");
  CHECK(promoted("u16", "f32") == "f32");
  CHECK_THROWS_AS(promote(DType::kU64, DType::kBool), triptych::InternalError);
  CHECK_THROWS_AS(promote(DType::kU16, DType::kI32), triptych::InternalError);
  CHECK_THROWS_AS(promote(DType::kF8E5M2, DType::kF32), triptych::InternalError);
}

TEST_CASE("names and sizes") {
  for (int i = 0; i <= static_cast<int>(DType::kF8E8M0FNU); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(parse_dtype(dtype_name(dtype)) == dtype);
    CHECK(dtype_bytes(dtype) > 0);
  }
  CHECK(!parse_dtype("f31"));
  CHECK(is_floating(DType::kBF16));
  CHECK(!is_floating(DType::kC64));
  CHECK(is_integral(DType::kBool, true));
  CHECK(!is_integral(DType::kBool, false));
}
