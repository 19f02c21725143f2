#include "ir/literal_text.h"

#include <array>
#include <charconv>

#include "ir/sym_text.h"

namespace triptych::ir {
namespace {

constexpr int kMaxNesting = 200;  // of lists, so that hostile text cannot exhaust the stack

constexpr std::array<std::string_view, 6> kLayoutNames{"strided", "sparse_coo", "sparse_csr",
                                                       "_mkldnn", "jagged",     "other_layout"};
constexpr std::array<std::string_view, 4> kMemoryFormatNames{"contiguous_format", "preserve_format",
                                                             "channels_last", "channels_last_3d"};
constexpr int kNumDTypes = static_cast<int>(DType::kF8E8M0FNU) + 1;

std::optional<Argument> torch_constant(std::string_view name) {
  for (std::size_t i = 0; i < kLayoutNames.size(); ++i) {
    if (kLayoutNames[i] == name) return Argument(static_cast<Layout>(i));
  }
  for (std::size_t i = 0; i < kMemoryFormatNames.size(); ++i) {
    if (kMemoryFormatNames[i] == name) return Argument(static_cast<MemoryFormat>(i));
  }
  for (int i = 0; i < kNumDTypes; ++i) {
    if (torch_dtype_name(static_cast<DType>(i)) == name) return Argument(static_cast<DType>(i));
  }
  return std::nullopt;
}

class LiteralParser {
 public:
  LiteralParser(Scanner& scanner, const ValueParser& value) : scanner_(scanner), value_(value) {}

  Result<Argument> argument() {
    if (++depth_ > kMaxNesting) return scanner_.error("an argument that is nested less deeply");
    Result<Argument> out = one();
    --depth_;
    return out;
  }

 private:
  Result<Argument> one() {
    const char next = scanner_.peek();
    if (next == '%' && value_ != nullptr) return value();
    if (next == '"') return string();
    if (next == '[') return list("[", "]", false);
    if (next == '(') return list("(", ")", true);
    if (next == '{') return dict();
    if (scanner_.accept("...")) return Argument(Ellipsis{});
    if (next == '-' || (next >= '0' && next <= '9')) return number();
    return word();
  }

  Result<Argument> value() {
    scanner_.accept("%");
    TRIPTYCH_TRY(const ValueId id, value_(scanner_));
    return Argument(id);
  }

  Result<Argument> string() {
    TRIPTYCH_TRY(std::string text, scanner_.quoted());
    return Argument(std::move(text));
  }

  // An integer, a float, or an expression that starts with a number.
  Result<Argument> number() {
    if (scanner_.next_is("-inf") || scanner_.next_is("-nan")) return real();
    const std::size_t begin = scanner_.position();
    const std::string_view rest = scanner_.text().substr(begin);
    const std::size_t end = rest.find_first_not_of("0123456789", rest.starts_with('-') ? 1 : 0);
    if (end != std::string_view::npos && end > 0) {
      const bool exponent = rest[end] == 'e' || rest[end] == 'E';
      if (rest[end] == '.' || exponent) return real();
    }
    return symbolic();
  }

  Result<Argument> real() {
    TRIPTYCH_TRY(const double value, scanner_.number());
    return Argument(value);
  }

  Result<Argument> symbolic() {
    TRIPTYCH_TRY(SymExpr expr, parse_sym_expr(scanner_));
    if (const auto constant = expr.as_constant()) return Argument(*constant);
    return Argument(std::move(expr));
  }

  Result<Argument> word() {
    if (scanner_.accept("None")) return Argument(None{});
    if (scanner_.accept("True")) return Argument(true);
    if (scanner_.accept("False")) return Argument(false);
    if (scanner_.next_is("nan") || scanner_.next_is("inf")) return real();
    if (scanner_.accept("torch.")) return torch_name();
    if (scanner_.accept("sym(")) return forced_symbolic();
    if (scanner_.accept("complex(")) return complex();
    if (scanner_.accept("device(")) return device();
    if (scanner_.accept("generator(")) return generator();
    if (scanner_.accept("slice(")) return slice();
    const std::size_t begin = scanner_.position();
    if (scanner_.word().empty()) return scanner_.error("an argument");
    scanner_.rewind(begin);
    return symbolic();
  }

  Result<Argument> torch_name() {
    const std::size_t begin = scanner_.position();
    if (auto constant = torch_constant(scanner_.word())) return *std::move(constant);
    return scanner_.error_at(begin, "no dtype, layout or memory format of torch has this name");
  }

  Result<Argument> forced_symbolic() {
    TRIPTYCH_TRY(SymExpr expr, parse_sym_expr(scanner_));
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    return Argument(std::move(expr));
  }

  Result<Argument> complex() {
    TRIPTYCH_TRY(const double real_part, scanner_.number());
    TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
    TRIPTYCH_TRY(const double imaginary, scanner_.number());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    return Argument(std::complex<double>(real_part, imaginary));
  }

  Result<Argument> device() {
    TRIPTYCH_TRY(const std::string text, scanner_.quoted());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    TRIPTYCH_TRY(Device out, parse_device(text));
    return Argument(std::move(out));
  }

  Result<Argument> generator() {
    TRIPTYCH_TRY(std::string name, scanner_.quoted());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    return Argument(Generator{std::move(name)});
  }

  Result<Argument> slice() {
    Slice out;
    for (int part = 0; part < 3; ++part) {
      if (part != 0) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
      }
      TRIPTYCH_TRY(Argument item, argument());
      out.parts.push_back(std::move(item));
    }
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    return Argument(std::move(out));
  }

  Result<Argument> list(std::string_view open, std::string_view close, bool is_tuple) {
    scanner_.accept(open);
    ArgumentList out{{}, is_tuple};
    while (!scanner_.accept(close)) {
      if (!out.items.empty()) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
        if (scanner_.accept(close)) break;  // (1,)
      }
      TRIPTYCH_TRY(Argument item, argument());
      out.items.push_back(std::move(item));
    }
    return Argument(std::move(out));
  }

  Result<Argument> dict() {
    scanner_.accept("{");
    ArgumentDict out;
    while (!scanner_.accept("}")) {
      if (!out.items.empty()) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
      }
      TRIPTYCH_TRY(std::string key, scanner_.quoted());
      TRIPTYCH_TRY([[maybe_unused]] const Unit colon, scanner_.expect(":"));
      TRIPTYCH_TRY(Argument item, argument());
      out.items.emplace_back(std::move(key), std::move(item));
    }
    return Argument(std::move(out));
  }

  Scanner& scanner_;
  const ValueParser& value_;
  int depth_ = 0;
};

struct LiteralPrinter {
  std::string& out;
  const ValuePrinter& value;

  void operator()(None) const { out += "None"; }
  void operator()(ValueId id) const {
    out += '%';
    if (value) {
      value(id, out);
    } else {
      out += std::to_string(id.value);
    }
  }
  void operator()(bool x) const { out += x ? "True" : "False"; }
  void operator()(std::int64_t x) const {
    char buffer[24];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
  }
  void operator()(double x) const { out += format_double(x); }
  void operator()(const std::complex<double>& x) const {
    out += "complex(" + format_double(x.real()) + ", " + format_double(x.imag()) + ")";
  }
  void operator()(const std::string& x) const { out += quote(x); }
  void operator()(DType x) const { (out += "torch.") += torch_dtype_name(x); }
  void operator()(const Device& x) const { out += "device(" + quote(x.str()) + ")"; }
  void operator()(Layout x) const {
    (out += "torch.") += kLayoutNames[static_cast<std::size_t>(x)];
  }
  void operator()(MemoryFormat x) const {
    (out += "torch.") += kMemoryFormatNames[static_cast<std::size_t>(x)];
  }
  void operator()(const SymExpr& x) const {
    if (x.is_constant()) out += "sym(";
    append_sym_expr(x, out);
    if (x.is_constant()) out += ')';
  }
  void operator()(const ArgumentList& x) const {
    out += x.is_tuple ? '(' : '[';
    items(x.items);
    if (x.is_tuple && x.items.size() == 1) out += ',';
    out += x.is_tuple ? ')' : ']';
  }
  void operator()(const ArgumentDict& x) const {
    out += '{';
    for (std::size_t i = 0; i < x.items.size(); ++i) {
      if (i != 0) out += ", ";
      out += quote(x.items[i].first) + ": ";
      append_literal(x.items[i].second, out, value);
    }
    out += '}';
  }
  void operator()(const Slice& x) const {
    out += "slice(";
    items(x.parts);
    out += ')';
  }
  void operator()(Ellipsis) const { out += "..."; }
  void operator()(const Generator& x) const { out += "generator(" + quote(x.name) + ")"; }

  void items(const std::vector<Argument>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out += ", ";
      append_literal(list[i], out, value);
    }
  }
};

}  // namespace

Result<Argument> parse_literal(Scanner& scanner, const ValueParser& value) {
  return LiteralParser(scanner, value).argument();
}

void append_literal(const Argument& argument, std::string& out, const ValuePrinter& value) {
  std::visit(LiteralPrinter{out, value}, argument.data);
}

}  // namespace triptych::ir
