#include "ir/dtype.h"

#include <algorithm>
#include <array>

#include "support/check.h"

namespace triptych::ir {
namespace {

enum class Category : std::uint8_t { kBool, kInt, kFloat, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::string_view torch_name;
  int bytes;
  Category category;
  bool is_signed;
};

constexpr std::array<DTypeInfo, 21> kInfo{{
    {DType::kBool, "bool", "bool", 1, Category::kBool, false},
    {DType::kU8, "u8", "uint8", 1, Category::kInt, false},
    {DType::kI8, "i8", "int8", 1, Category::kInt, true},
    {DType::kI16, "i16", "int16", 2, Category::kInt, true},
    {DType::kI32, "i32", "int32", 4, Category::kInt, true},
    {DType::kI64, "i64", "int64", 8, Category::kInt, true},
    {DType::kF16, "f16", "float16", 2, Category::kFloat, true},
    {DType::kBF16, "bf16", "bfloat16", 2, Category::kFloat, true},
    {DType::kF32, "f32", "float32", 4, Category::kFloat, true},
    {DType::kF64, "f64", "float64", 8, Category::kFloat, true},
    {DType::kC32, "c32", "complex32", 4, Category::kComplex, true},
    {DType::kC64, "c64", "complex64", 8, Category::kComplex, true},
    {DType::kC128, "c128", "complex128", 16, Category::kComplex, true},
    {DType::kU16, "u16", "uint16", 2, Category::kInt, false},
    {DType::kU32, "u32", "uint32", 4, Category::kInt, false},
    {DType::kU64, "u64", "uint64", 8, Category::kInt, false},
    {DType::kF8E4M3FN, "f8e4m3fn", "float8_e4m3fn", 1, Category::kFloat, true},
    {DType::kF8E5M2, "f8e5m2", "float8_e5m2", 1, Category::kFloat, true},
    {DType::kF8E4M3FNUZ, "f8e4m3fnuz", "float8_e4m3fnuz", 1, Category::kFloat, true},
    {DType::kF8E5M2FNUZ, "f8e5m2fnuz", "float8_e5m2fnuz", 1, Category::kFloat, true},
    {DType::kF8E8M0FNU, "f8e8m0fnu", "float8_e8m0fnu", 1, Category::kFloat, false},
}};

constexpr bool rows_match_enum() {
  for (std::size_t i = 0; i < kInfo.size(); ++i) {
    if (static_cast<std::size_t>(kInfo[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_match_enum());

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<std::size_t>(dtype)]; }
bool is_f8(DType dtype) { return is_floating(dtype) && dtype_bytes(dtype) == 1; }
bool is_wide_unsigned(DType dtype) {
  return dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
}

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return dtype_bytes(a) > dtype_bytes(b) ? a : b;
  const DType other = is_signed(a) ? a : b;  // the unsigned one is u8
  return other == DType::kI8 ? DType::kI16 : other;
}

DType promote_floats(DType a, DType b) {
  if (dtype_bytes(a) != dtype_bytes(b)) return dtype_bytes(a) > dtype_bytes(b) ? a : b;
  return DType::kF32;  // f16 with bf16
}

// A complex type holds both a complex and any other operand.
DType promote_complex(DType a, DType b) {
  if (is_complex(a) && is_complex(b)) return dtype_bytes(a) > dtype_bytes(b) ? a : b;
  const DType complex = is_complex(a) ? a : b;
  const DType other = is_complex(a) ? b : a;
  if (!is_floating(other)) return complex;
  if (other == DType::kF64) return DType::kC128;
  if (other == DType::kF16) return complex;
  return complex == DType::kC32 ? DType::kC64 : complex;  // f32 and bf16 do not fit c32
}

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }
std::string_view torch_dtype_name(DType dtype) { return info(dtype).torch_name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& row : kInfo) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int dtype_bytes(DType dtype) { return info(dtype).bytes; }
bool is_floating(DType dtype) { return info(dtype).category == Category::kFloat; }
bool is_complex(DType dtype) { return info(dtype).category == Category::kComplex; }
bool is_integral(DType dtype, bool include_bool) {
  return info(dtype).category == Category::kInt || (include_bool && dtype == DType::kBool);
}
bool is_signed(DType dtype) { return info(dtype).is_signed; }

DType promote(DType a, DType b) {
  if (a == b) return a;
  TRIPTYCH_CHECK(!is_f8(a) && !is_f8(b), "8-bit floats do not promote");
  const bool has_float = is_floating(a) || is_floating(b);
  TRIPTYCH_CHECK(has_float || (!is_wide_unsigned(a) && !is_wide_unsigned(b)),
                 "wide unsigned integers promote only with floats");
  if (is_complex(a) || is_complex(b)) return promote_complex(a, b);
  const Category high = std::max(info(a).category, info(b).category);
  if (info(a).category != info(b).category) return info(a).category == high ? a : b;
  if (high == Category::kFloat) return promote_floats(a, b);
  return promote_integers(a, b);
}

}  // namespace triptych::ir
