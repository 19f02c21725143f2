// LLVM IR spelled as text: types, literals and the strings of one function under construction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/dtype.h"

namespace triptych::writers::llvm {

using ir::DType;

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}
inline std::string num(std::int64_t value) { return std::to_string(value); }

// Types in registers ("float", "<16 x i1>") and in memory (bool: i8, bf16 and f16: i16).
std::string register_type(DType dtype, int lanes);
std::string memory_type(DType dtype, int lanes);
std::string vector_type(std::string_view scalar, int lanes);
// "f32", "v16f32": as in the names of overloaded intrinsics.
std::string mangled(DType dtype, int lanes);
std::string mangled_memory(DType dtype, int lanes);

// A literal of one lane ("0x3FF0000000000000", "7", "true"), and the same in all lanes.
std::string float_literal(DType dtype, double value);
// The number that a literal of f32 or f64 is, in all lanes or one; nullopt for the name of a value.
std::optional<double> literal_value(std::string_view text);
std::string literal(DType dtype,
                    const std::variant<std::monostate, bool, std::int64_t, double>& value);
std::string splat_literal(DType dtype, const std::string& lane, int lanes);
// <i64 0, i64 1, ...> times `step`, plus `start`.
std::string iota_literal(std::string_view scalar, int lanes, std::int64_t start, std::int64_t step);

// A value in registers. `level`: the depth of the innermost loop region that it depends on (0:
// none).
struct Operand {
  std::string text;
  DType dtype = DType::kI64;
  int lanes = 1;
  int level = 0;
  bool is_bf16 = false;  // an f32 whose value a bf16 has, bit for bit

  std::string typed() const { return cat(register_type(dtype, lanes), " ", text); }
};

// The text of one function. Regions nest like loops; what does not depend on a region's variable is
// appended to its preheader, which runs once before it. So invariants never sit inside a loop.
class Code {
 public:
  Code() : regions_(1) {}

  int level() const { return static_cast<int>(regions_.size()) - 1; }
  void open_region() { regions_.emplace_back(); }
  struct Texts {
    std::string preheader, body;
  };
  Texts close_region();
  // Where to append what depends on nothing deeper than `level`.
  std::string& at(int level);
  std::string& here() { return regions_.back().body; }

  std::string fresh() { return cat("%t", num(next_value_++)); }
  int fresh_label() { return next_label_++; }
  // Emits "%t = <text>" at `level`; the name. What is hoisted must be pure: it is shared by its
  // text.
  std::string define(int level, const std::string& text);
  // The label of the block that is open in the current region's body.
  void start_block(const std::string& label);
  void set_block(const std::string& label) { block_ = label; }
  const std::string& block() const { return block_; }

  // Values found again by key as long as they are in scope.
  const Operand* find(const std::string& key) const;
  void remember(const std::string& key, const Operand& operand);

  // What the module must hold beside the function, by name: declarations, functions that the text
  // calls (both complete), and which names the toolchain must resolve.
  struct Needs {
    std::map<std::string, std::string> declarations, helpers;
    std::set<std::string> externals;
  };
  void declare(const std::string& name, const std::string& signature) {
    needs_.declarations[name] = signature;
  }
  void helper(const std::string& name, const std::string& definition) {
    needs_.helpers[name] = definition;
  }
  void external(const std::string& name) { needs_.externals.insert(name); }
  const Needs& needs() const { return needs_; }

 private:
  struct Region {
    std::string preheader, body;
    std::map<std::string, Operand> known;
  };
  std::vector<Region> regions_;
  std::string block_ = "entry";
  int next_value_ = 0;
  int next_label_ = 0;
  Needs needs_;
};

// Emits instructions of one element type and lane count at one level of the code.
class Ops {
 public:
  Ops(Code& code, DType dtype, int lanes, int level)
      : code_(code),
        dtype_(dtype),
        lanes_(lanes),
        level_(level),
        type_(register_type(dtype, lanes)) {}

  Code& code() { return code_; }
  DType dtype() const { return dtype_; }
  int lanes() const { return lanes_; }
  int level() const { return level_; }
  const std::string& type() const { return type_; }
  Ops with(DType dtype) const { return Ops(code_, dtype, lanes_, level_); }

  std::string def(const std::string& text) { return code_.define(level_, text); }
  std::string constant(double value) const;       // floats
  std::string integer(std::int64_t value) const;  // integers
  std::string binary(std::string_view op, const std::string& a, const std::string& b) {
    return def(cat(op, " ", type_, " ", a, ", ", b));
  }
  // Float arithmetic that may be contracted to fused multiply-add.
  std::string add(const std::string& a, const std::string& b) {
    return binary("fadd contract", a, b);
  }
  std::string sub(const std::string& a, const std::string& b) {
    return binary("fsub contract", a, b);
  }
  std::string mul(const std::string& a, const std::string& b) {
    return binary("fmul contract", a, b);
  }
  std::string div(const std::string& a, const std::string& b) { return binary("fdiv", a, b); }
  std::string fma(const std::string& a, const std::string& b, const std::string& c);
  std::string neg(const std::string& a) { return def(cat("fneg ", type_, " ", a)); }
  std::string abs(const std::string& a) { return intrinsic("llvm.fabs", {a}); }
  // `name` gets ".v16f32" appended; all operands and the result have this type.
  std::string intrinsic(const std::string& name, const std::vector<std::string>& args);
  std::string fcmp(std::string_view predicate, const std::string& a, const std::string& b) {
    return def(cat("fcmp ", predicate, " ", type_, " ", a, ", ", b));
  }
  std::string icmp(std::string_view predicate, const std::string& a, const std::string& b) {
    return def(cat("icmp ", predicate, " ", type_, " ", a, ", ", b));
  }
  std::string select(const std::string& condition, const std::string& a, const std::string& b) {
    return def(cat("select ", register_type(DType::kBool, lanes_), " ", condition, ", ", type_, " ",
                   a, ", ", type_, " ", b));
  }
  std::string convert(std::string_view op, const std::string& value, DType to) {
    return def(cat(op, " ", type_, " ", value, " to ", register_type(to, lanes_)));
  }
  // Horner in x; coefficients from the highest power down.
  std::string polynomial(const std::string& x, const std::vector<double>& coefficients);

 private:
  Code& code_;
  DType dtype_;
  int lanes_;
  int level_;
  std::string type_;
};

}  // namespace triptych::writers::llvm
