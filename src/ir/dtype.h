// Element types, spelled as torch spells them. Names in text form: bool u8 i8 i16 i32 i64 f16 bf16
// f32 f64 c32 c64 c128 and so on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace triptych::ir {

enum class DType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC32,
  kC64,
  kC128,
  kU16,
  kU32,
  kU64,
  kF8E4M3FN,
  kF8E5M2,
  kF8E4M3FNUZ,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
};

std::string_view dtype_name(DType dtype);        // "f32"
std::string_view torch_dtype_name(DType dtype);  // "float32", as after `torch.`
std::optional<DType> parse_dtype(std::string_view name);
int dtype_bytes(DType dtype);
bool is_floating(DType dtype);  // f16 bf16 f32 f64 and the f8 types
bool is_complex(DType dtype);
bool is_integral(DType dtype, bool include_bool);
bool is_signed(DType dtype);
// Result dtype of two tensors of the same category rank, as c10::promoteTypes.
DType promote(DType a, DType b);

}  // namespace triptych::ir
