#include "ir/type_text.h"

#include "ir/sym_text.h"

namespace triptych::ir {
namespace {

constexpr std::string_view kNotInBareWords = " \t\r\n\"'()[]{}<>,;=#%";

void append_list(const std::vector<SymExpr>& list, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += ", ";
    append_sym_expr(list[i], out);
  }
  out += ']';
}

Result<std::vector<SymExpr>> parse_list(Scanner& scanner) {
  TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner.expect("["));
  std::vector<SymExpr> out;
  while (!scanner.accept("]")) {
    if (!out.empty()) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner.expect(","));
    }
    TRIPTYCH_TRY(SymExpr item, parse_sym_expr(scanner));
    out.push_back(std::move(item));
  }
  return out;
}

struct TypePrinter {
  std::string& out;
  void operator()(const TensorType& type) const { append_tensor_type(type, out); }
  void operator()(const ScalarValueType& type) const {
    switch (type.kind) {
      case ScalarValueType::Kind::kInt:
        out += "int";
        break;
      case ScalarValueType::Kind::kFloat:
        out += "float";
        break;
      case ScalarValueType::Kind::kBool:
        out += "bool";
        break;
    }
    if (type.expr) {
      out += '(';
      append_sym_expr(*type.expr, out);
      out += ')';
    }
  }
  void operator()(NoneType) const { out += "none"; }
  void operator()(const ObjectType& type) const { out += "object(" + quote(type.name) + ")"; }
};

Result<ValueType> parse_scalar_type(Scanner& scanner, ScalarValueType::Kind kind) {
  ScalarValueType type{kind, std::nullopt};
  if (scanner.accept("(")) {
    TRIPTYCH_TRY(type.expr, parse_sym_expr(scanner));
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner.expect(")"));
  }
  return ValueType(std::move(type));
}

}  // namespace

std::vector<SymExpr> contiguous_strides(const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> strides(sizes.size());
  SymExpr stride(1);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (sizes[i] != SymExpr(0)) stride *= sizes[i];
  }
  return strides;
}

void append_tensor_type(const TensorType& type, std::string& out) {
  out += dtype_name(type.dtype);
  append_list(type.sizes, out);
  if (type.strides != contiguous_strides(type.sizes)) {
    out += " strides=";
    append_list(type.strides, out);
  }
  if (type.storage_offset != SymExpr(0)) {
    out += " offset=";
    append_sym_expr(type.storage_offset, out);
  }
  if (type.device != Device{}) out += " device=" + quote(type.device.str());
  if (type.requires_grad) out += " requires_grad";
}

Result<TensorType> parse_tensor_type(Scanner& scanner) {
  scanner.at_end();
  const std::size_t begin = scanner.position();
  const std::string_view name = scanner.word();
  const auto dtype = parse_dtype(name);
  if (!dtype) {
    scanner.rewind(begin);
    return scanner.error("a type such as f32[2, 3]");
  }
  TensorType type;
  type.dtype = *dtype;
  TRIPTYCH_TRY(type.sizes, parse_list(scanner));
  type.strides = contiguous_strides(type.sizes);
  if (scanner.accept("strides=")) {
    TRIPTYCH_TRY(type.strides, parse_list(scanner));
  }
  if (scanner.accept("offset=")) {
    TRIPTYCH_TRY(type.storage_offset, parse_sym_expr(scanner));
  }
  if (scanner.accept("device=")) {
    TRIPTYCH_TRY(const std::string text, scanner.quoted());
    TRIPTYCH_TRY(type.device, parse_device(text));
  }
  type.requires_grad = scanner.accept("requires_grad");
  return type;
}

void append_type(const ValueType& type, std::string& out) { std::visit(TypePrinter{out}, type); }

Result<ValueType> parse_type(Scanner& scanner) {
  using Kind = ScalarValueType::Kind;
  if (scanner.accept("int")) return parse_scalar_type(scanner, Kind::kInt);
  if (scanner.accept("float")) return parse_scalar_type(scanner, Kind::kFloat);
  if (scanner.next_is("bool") && !scanner.next_is("bool[")) {
    scanner.accept("bool");
    return parse_scalar_type(scanner, Kind::kBool);
  }
  if (scanner.accept("none")) return ValueType(NoneType{});
  if (scanner.accept("object(")) {
    TRIPTYCH_TRY(std::string name, scanner.quoted());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner.expect(")"));
    return ValueType(ObjectType{std::move(name)});
  }
  TRIPTYCH_TRY(TensorType type, parse_tensor_type(scanner));
  return ValueType(std::move(type));
}

void append_word(std::string_view word, std::string& out) {
  const bool bare = !word.empty() && word.find_first_of(kNotInBareWords) == std::string_view::npos;
  out += bare ? std::string(word) : quote(word);
}

Result<std::string> parse_word(Scanner& scanner) {
  if (scanner.peek() == '"') return scanner.quoted();
  const std::size_t begin = scanner.position();
  std::size_t end = scanner.text().find_first_of(kNotInBareWords, begin);
  if (end == std::string_view::npos) end = scanner.text().size();
  if (end == begin) return scanner.error("a name");
  scanner.rewind(end);
  return std::string(scanner.text().substr(begin, end - begin));
}

}  // namespace triptych::ir
