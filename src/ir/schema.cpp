#include "ir/schema.h"

#include <array>

#include "ir/literal_text.h"
#include "support/scanner.h"

namespace triptych::ir {
namespace {

struct BaseTypeName {
  BaseType type;
  std::string_view name;
};
constexpr std::array kBaseTypes{
    BaseTypeName{BaseType::kTensor, "Tensor"},
    BaseTypeName{BaseType::kInt, "int"},
    BaseTypeName{BaseType::kSymInt, "SymInt"},
    BaseTypeName{BaseType::kFloat, "float"},
    BaseTypeName{BaseType::kBool, "bool"},
    BaseTypeName{BaseType::kStr, "str"},
    BaseTypeName{BaseType::kScalar, "Scalar"},
    BaseTypeName{BaseType::kScalarType, "ScalarType"},
    BaseTypeName{BaseType::kDevice, "Device"},
    BaseTypeName{BaseType::kLayout, "Layout"},
    BaseTypeName{BaseType::kMemoryFormat, "MemoryFormat"},
    BaseTypeName{BaseType::kGenerator, "Generator"},
    BaseTypeName{BaseType::kStorage, "Storage"},
    BaseTypeName{BaseType::kStream, "Stream"},
    BaseTypeName{BaseType::kDimname, "Dimname"},
    BaseTypeName{BaseType::kComplex, "complex"},
};

// Torch's numbering of dtypes, in which its own printed schemas write a dtype default.
constexpr std::array<DType, 16> kTorchScalarTypes{
    DType::kU8,  DType::kI8,  DType::kI16, DType::kI32, DType::kI64,  DType::kF16,
    DType::kF32, DType::kF64, DType::kC32, DType::kC64, DType::kC128, DType::kBool,
    DType::kI8,  DType::kU8,  DType::kI32, DType::kBF16};
constexpr std::array kMemoryFormats{MemoryFormat::kContiguous, MemoryFormat::kPreserve,
                                    MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d};

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : scanner_(text, "schema.parse") {}

  Result<Schema> schema() {
    Schema out;
    TRIPTYCH_TRY([[maybe_unused]] const Unit named, operator_name(out));
    TRIPTYCH_TRY(out.arguments, arguments());
    TRIPTYCH_TRY([[maybe_unused]] const Unit arrow, scanner_.expect("->"));
    TRIPTYCH_TRY(out.returns, returns());
    if (!scanner_.at_end()) return scanner_.error("the end of the schema");
    return out;
  }

 private:
  Status operator_name(Schema& out) {
    out.name = scanner_.dotted_word();
    const std::size_t colons = out.name.find("::");
    if (colons == std::string::npos) return scanner_.error("an operator name as 'namespace::name'");
    const std::size_t dot = out.name.find('.', colons);
    if (dot != std::string::npos) {
      out.overload = out.name.substr(dot + 1);
      out.name.resize(dot);
    }
    return Unit{};
  }

  Result<std::vector<SchemaArgument>> arguments() {
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    std::vector<SchemaArgument> out;
    bool keyword_only = false;
    while (!scanner_.accept(")")) {
      if (!out.empty() || keyword_only) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
      }
      if (scanner_.accept("*")) {
        keyword_only = true;
        continue;
      }
      TRIPTYCH_TRY(SchemaArgument added, argument());
      added.keyword_only = keyword_only;
      out.push_back(std::move(added));
    }
    return out;
  }

  Result<SchemaArgument> argument() {
    if (scanner_.accept("...")) {
      SchemaArgument rest{.name = "...", .type = {}, .alias = {}, .default_value = {}};
      rest.type.base = BaseType::kOther;
      return rest;
    }
    SchemaArgument out;
    TRIPTYCH_TRY([[maybe_unused]] const Unit typed, type(out));
    out.name = scanner_.word();
    if (out.name.empty()) return scanner_.error("the argument's name");
    if (scanner_.next_is(
            "[")) {  // native_functions.yaml never does this; torch prints `int[] x[2]`: no
      return scanner_.error("',' or ')'");
    }
    if (scanner_.accept("=")) {
      TRIPTYCH_TRY(out.default_value, default_value(out.type));
    }
    return out;
  }

  Result<std::vector<SchemaArgument>> returns() {
    std::vector<SchemaArgument> out;
    if (!scanner_.accept("(")) {
      if (scanner_.accept("...")) return out;
      TRIPTYCH_TRY([[maybe_unused]] const Unit typed, type(out.emplace_back()));
      return out;
    }
    while (!scanner_.accept(")")) {
      if (!out.empty()) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
      }
      SchemaArgument& added = out.emplace_back();
      TRIPTYCH_TRY([[maybe_unused]] const Unit typed, type(added));
      added.name = scanner_.word();
    }
    return out;
  }

  // A base type, an alias set in parentheses, then any of "?", "[]" and "[N]".
  Status type(SchemaArgument& out) {
    scanner_.at_end();
    const std::size_t begin = scanner_.position();
    TRIPTYCH_TRY(out.type.base, base_type());
    TRIPTYCH_TRY([[maybe_unused]] const Unit aliased, alias(out));
    bool exact = out.type.base != BaseType::kOther;
    while (true) {
      if (scanner_.accept("?")) {
        exact &= !out.type.optional;
        out.type.optional = true;
      } else if (scanner_.accept("[")) {
        exact &= !out.type.list;
        out.type.optional_element = std::exchange(out.type.optional, false);
        out.type.list = true;
        if (scanner_.peek() != ']') {
          TRIPTYCH_TRY(const std::int64_t size, scanner_.integer());
          out.type.list_size = static_cast<int>(size);
        }
        TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect("]"));
        TRIPTYCH_TRY([[maybe_unused]] const Unit aliased_list, alias(out));
      } else {
        break;
      }
    }
    if (!exact) {
      const std::size_t end = scanner_.position();
      out.type = {};
      out.type.base = BaseType::kOther;
      out.type.other = strip(scanner_.text().substr(begin, end - begin));
      out.alias.clear();
    }
    return Unit{};
  }

  static std::string strip(std::string_view text) {
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return std::string(text);
  }

  Result<BaseType> base_type() {
    if (scanner_.accept("(")) {  // a tuple
      TRIPTYCH_TRY([[maybe_unused]] const Unit skipped, skip_parentheses());
      return BaseType::kOther;
    }
    const std::string_view word = scanner_.dotted_word();
    if (word.empty()) return scanner_.error("a type");
    for (const BaseTypeName& row : kBaseTypes) {
      if (row.name == word) return row.type;
    }
    if (scanner_.adjacent() && scanner_.accept("(")) {  // Dict(str, Tensor), Future(t), Foo(a!)
      TRIPTYCH_TRY([[maybe_unused]] const Unit skipped, skip_parentheses());
    }
    return BaseType::kOther;
  }

  Status skip_parentheses() {
    for (int depth = 1; depth > 0;) {
      if (scanner_.at_end()) return scanner_.error("')'");
      if (scanner_.accept("(")) {
        ++depth;
      } else if (scanner_.accept(")")) {
        --depth;
      } else {
        scanner_.rewind(scanner_.position() + 1);
      }
    }
    return Unit{};
  }

  Status alias(SchemaArgument& out) {
    if (!scanner_.adjacent() || !scanner_.accept("(")) return Unit{};
    const std::size_t begin = scanner_.position();
    TRIPTYCH_TRY([[maybe_unused]] const Unit skipped, skip_parentheses());
    out.alias = scanner_.text().substr(begin, scanner_.position() - 1 - begin);
    return Unit{};
  }

  Result<Argument> default_value(const SchemaType& type) {
    const auto mean = scanner_.accept("Mean");  // at::Reduction, as native_functions.yaml writes it
    if (mean) return Argument(std::int64_t{1});
    if (scanner_.next_is("'")) return single_quoted();
    const std::size_t begin = scanner_.position();
    const std::string_view word = scanner_.word();
    if (const auto named = named_default(word)) return *named;
    scanner_.rewind(begin);
    TRIPTYCH_TRY(Argument value, parse_literal(scanner_));
    return converted(std::move(value), type);
  }

  static std::optional<Argument> named_default(std::string_view word) {
    if (word == "contiguous_format") return Argument(MemoryFormat::kContiguous);
    if (word == "preserve_format") return Argument(MemoryFormat::kPreserve);
    if (word == "long") return Argument(DType::kI64);
    if (word == "strided") return Argument(Layout::kStrided);
    if (word == "cpu") return Argument(Device{});
    return std::nullopt;
  }

  Result<Argument> single_quoted() {
    scanner_.accept("'");
    const std::size_t begin = scanner_.position();
    const std::size_t end = scanner_.text().find('\'', begin);
    if (end == std::string_view::npos)
      return scanner_.error_at(begin, "this string has no closing quote");
    scanner_.rewind(end + 1);
    return Argument(std::string(scanner_.text().substr(begin, end - begin)));
  }

  // The literal as the type wants it: `float p=1` is 1.0, `int[2] stride=1` is [1, 1].
  static Argument converted(Argument value, const SchemaType& type) {
    if (type.list) {
      if (auto* list = std::get_if<ArgumentList>(&value.data)) {
        SchemaType element = type;
        element.list = false;
        for (Argument& item : list->items) item = converted(std::move(item), element);
      } else if (!value.is_none()) {
        SchemaType element = type;
        element.list = false;
        ArgumentList list;
        list.items.assign(static_cast<std::size_t>(std::max(type.list_size, 1)),
                          converted(std::move(value), element));
        return Argument(std::move(list));
      }
      return value;
    }
    const auto* number = value.get_if<std::int64_t>();
    if (number == nullptr) return value;
    if (type.base == BaseType::kFloat) return Argument(static_cast<double>(*number));
    const auto index = static_cast<std::size_t>(*number);
    if (type.base == BaseType::kScalarType && index < kTorchScalarTypes.size()) {
      return Argument(kTorchScalarTypes[index]);
    }
    if (type.base == BaseType::kMemoryFormat && index < kMemoryFormats.size()) {
      return Argument(kMemoryFormats[index]);
    }
    if (type.base == BaseType::kLayout && index == 0) return Argument(Layout::kStrided);
    return value;
  }

  Scanner scanner_;
};

void print_type(const SchemaArgument& argument, std::string& out) {
  const SchemaType& type = argument.type;
  if (type.base == BaseType::kOther) {
    out += type.other;
    return;
  }
  for (const BaseTypeName& row : kBaseTypes) {
    if (row.type == type.base) out += row.name;
  }
  if (!argument.alias.empty()) out += "(" + argument.alias + ")";
  if (type.optional_element) out += '?';
  if (type.list) out += type.list_size < 0 ? "[]" : "[" + std::to_string(type.list_size) + "]";
  if (type.optional) out += '?';
}

void print_argument(const SchemaArgument& argument, std::string& out) {
  print_type(argument, out);
  if (!argument.name.empty()) {
    if (!out.empty() && argument.name != "...") out += ' ';
    out += argument.name;
  }
  if (argument.default_value) {
    out += '=';
    append_literal(*argument.default_value, out);
  }
}

}  // namespace

std::string Schema::qualified() const {
  std::string out = name;
  const std::size_t colons = out.find("::");
  if (colons != std::string::npos) out.replace(colons, 2, ".");
  return out + "." + (overload.empty() ? "default" : overload);
}

std::string Schema::str() const {
  std::string out = name;
  if (!overload.empty()) out += "." + overload;
  out += '(';
  bool keyword_only = false, first = true;
  for (const SchemaArgument& argument : arguments) {
    if (!first) out += ", ";
    if (argument.keyword_only && !keyword_only) out += "*, ";
    keyword_only |= argument.keyword_only;
    first = false;
    print_argument(argument, out);
  }
  out += ") -> ";
  const bool bare = returns.size() == 1 && returns[0].name.empty();
  if (!bare) out += '(';
  for (std::size_t i = 0; i < returns.size(); ++i) {
    if (i != 0) out += ", ";
    print_argument(returns[i], out);
  }
  return bare ? out : out + ")";
}

bool Schema::mutates() const {
  for (const SchemaArgument& argument : arguments) {
    if (argument.written()) return true;
  }
  return false;
}

std::optional<std::size_t> Schema::find(std::string_view argument) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == argument) return i;
  }
  return std::nullopt;
}

Result<Schema> parse_schema(std::string_view text) { return SchemaParser(text).schema(); }

}  // namespace triptych::ir
