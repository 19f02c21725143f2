#include "codegen/writers/llvm/ir_text.h"

#include <bit>
#include <charconv>
#include <cstdio>
#include <utility>

#include "codegen/writers/constant_value.h"
#include "support/check.h"
#include "support/float16.h"

namespace triptych::writers::llvm {

namespace {

std::string_view scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "i1";
    case DType::kU8:
    case DType::kI8:
      return "i8";
    case DType::kI16:
    case DType::kU16:
      return "i16";
    case DType::kI32:
    case DType::kU32:
      return "i32";
    case DType::kI64:
    case DType::kU64:
      return "i64";
    case DType::kF16:
      return "half";
    case DType::kBF16:
      return "bfloat";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
      break;
  }
  TRIPTYCH_UNREACHABLE("a dtype that kernels do not have");
}

std::string_view scalar_memory_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "i8";
    case DType::kF16:
    case DType::kBF16:
      return "i16";
    default:
      return scalar_type(dtype);
  }
}

std::string mangle(std::string_view type, int lanes) {
  std::string_view name = type == "float"    ? "f32"
                          : type == "double" ? "f64"
                          : type == "half"   ? "f16"
                          : type == "bfloat" ? "bf16"
                                             : type;
  return lanes == 1 ? std::string(name) : cat("v", num(lanes), name);
}

std::string hex(std::uint64_t bits, int digits) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%0*llX", digits, static_cast<unsigned long long>(bits));
  return buffer;
}

}  // namespace

std::string vector_type(std::string_view scalar, int lanes) {
  return lanes == 1 ? std::string(scalar) : cat("<", num(lanes), " x ", scalar, ">");
}
std::string register_type(DType dtype, int lanes) { return vector_type(scalar_type(dtype), lanes); }
std::string memory_type(DType dtype, int lanes) {
  return vector_type(scalar_memory_type(dtype), lanes);
}
std::string mangled(DType dtype, int lanes) { return mangle(scalar_type(dtype), lanes); }
std::string mangled_memory(DType dtype, int lanes) {
  return mangle(scalar_memory_type(dtype), lanes);
}

std::string float_literal(DType dtype, double value) {
  float narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kF64:
      return cat("0x", hex(std::bit_cast<std::uint64_t>(value), 16));
    case DType::kF32:
      return cat("0x", hex(std::bit_cast<std::uint64_t>(static_cast<double>(narrow)), 16));
    case DType::kBF16:
      return cat("0xR", hex(float_to_bf16(narrow), 4));
    case DType::kF16:
      return cat("0xH", hex(float_to_f16(narrow), 4));
    default:
      TRIPTYCH_UNREACHABLE("not a floating dtype");
  }
}

std::optional<double> literal_value(std::string_view text) {
  constexpr std::string_view kPrefix = "0x";
  constexpr std::size_t kDigits = 16;
  const std::size_t at = text.rfind(kPrefix);
  if (text.starts_with('%') || at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(at + kPrefix.size(), kDigits);
  std::uint64_t bits = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (parsed.ptr != digits.data() + kDigits) return std::nullopt;
  return std::bit_cast<double>(bits);
}

std::string literal(DType dtype,
                    const std::variant<std::monostate, bool, std::int64_t, double>& value) {
  const auto [real, integer] = constant_value(dtype, value);
  if (ir::is_floating(dtype)) return float_literal(dtype, real);
  if (dtype == DType::kBool) return real != 0 ? "true" : "false";
  // LLVM refuses a literal that does not fit the type: wrap as the conversion to that dtype does.
  switch (ir::dtype_bytes(dtype)) {
    case 1:
      return num(static_cast<std::int8_t>(integer));
    case 2:
      return num(static_cast<std::int16_t>(integer));
    case 4:
      return num(static_cast<std::int32_t>(integer));
    default:
      return num(integer);
  }
}

std::string splat_literal(DType dtype, const std::string& lane, int lanes) {
  if (lanes == 1) return lane;
  return cat("splat (", scalar_type(dtype), " ", lane, ")");
}

std::string iota_literal(std::string_view scalar, int lanes, std::int64_t start,
                         std::int64_t step) {
  if (lanes == 1) return num(start);
  std::string text = "<";
  for (int lane = 0; lane < lanes; ++lane) {
    text += cat(lane == 0 ? "" : ", ", scalar, " ", num(start + lane * step));
  }
  return text + ">";
}

Code::Texts Code::close_region() {
  Texts texts{std::move(regions_.back().preheader), std::move(regions_.back().body)};
  regions_.pop_back();
  return texts;
}

std::string& Code::at(int level) {
  if (level >= this->level()) return regions_.back().body;
  return regions_[static_cast<std::size_t>(level) + 1].preheader;
}

std::string Code::define(int level, const std::string& text) {
  bool hoisted = level < this->level();
  if (hoisted) {
    if (const Operand* known = find(text)) return known->text;
  }
  std::string name = fresh();
  at(level).append("  ").append(name).append(" = ").append(text).append("\n");
  if (hoisted) remember(text, Operand{.text = name, .level = level});
  return name;
}

void Code::start_block(const std::string& label) {
  here() += cat(label, ":\n");
  block_ = label;
}

const Operand* Code::find(const std::string& key) const {
  for (auto region = regions_.rbegin(); region != regions_.rend(); ++region) {
    auto found = region->known.find(key);
    if (found != region->known.end()) return &found->second;
  }
  return nullptr;
}

void Code::remember(const std::string& key, const Operand& operand) {
  std::size_t region =
      operand.level >= level() ? regions_.size() - 1 : static_cast<std::size_t>(operand.level) + 1;
  regions_[region].known[key] = operand;
}

std::string Ops::constant(double value) const {
  return splat_literal(dtype_, float_literal(dtype_, value), lanes_);
}

std::string Ops::integer(std::int64_t value) const {
  return splat_literal(dtype_, literal(dtype_, value), lanes_);
}

std::string Ops::intrinsic(const std::string& name, const std::vector<std::string>& args) {
  std::string full = cat(name, ".", mangled(dtype_, lanes_));
  std::string signature, list;
  for (const std::string& arg : args) {
    signature += cat(signature.empty() ? "" : ", ", type_);
    list += cat(list.empty() ? "" : ", ", type_, " ", arg);
  }
  code_.declare(full, cat(type_, " @", full, "(", signature, ")"));
  return def(cat("call ", type_, " @", full, "(", list, ")"));
}

std::string Ops::fma(const std::string& a, const std::string& b, const std::string& c) {
  return intrinsic("llvm.fma", {a, b, c});
}

std::string Ops::polynomial(const std::string& x, const std::vector<double>& coefficients) {
  std::string sum = constant(coefficients.front());
  for (std::size_t k = 1; k < coefficients.size(); ++k)
    sum = fma(sum, x, constant(coefficients[k]));
  return sum;
}

}  // namespace triptych::writers::llvm
