#include "codegen/loops/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace triptych::loops {
namespace {

using Kind = ExpressionNode::Kind;

struct InfixOperator {
  std::string_view text;
  ScalarOp op;
};
// One row per precedence level, loosest first; longer operators before their prefixes.
const std::array<std::vector<InfixOperator>, 5> kLevels = {{
    {{"||", ScalarOp::kLogicalOr}},
    {{"&&", ScalarOp::kLogicalAnd}},
    {{"==", ScalarOp::kEq},
     {"!=", ScalarOp::kNe},
     {"<=", ScalarOp::kLe},
     {">=", ScalarOp::kGe},
     {"<", ScalarOp::kLt},
     {">", ScalarOp::kGt}},
    {{"+", ScalarOp::kAdd}, {"-", ScalarOp::kSub}},
    {{"*", ScalarOp::kMul}, {"/", ScalarOp::kDiv}},
}};

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Recursive descent; the first error wins and every later step is skipped.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression> parse() {
    conditional();
    if (!error_ && !at_end()) fail("unexpected text");
    if (error_) return *std::move(error_);
    return std::move(expression_);
  }

 private:
  int conditional() {
    const int condition = infix(0);
    if (!take("?")) return condition;
    const int if_true = conditional();
    if (!take(":")) return fail("expected ':'");
    const int if_false = conditional();
    return add({.kind = Kind::kConditional, .args = {condition, if_true, if_false}});
  }

  int infix(std::size_t level) {
    if (level == kLevels.size()) return unary();
    int left = infix(level + 1);
    while (const InfixOperator* found = take_operator(level)) {
      const int right = infix(level + 1);
      left = add({.kind = Kind::kOp, .op = found->op, .args = {left, right, -1}});
    }
    return left;
  }

  int unary() {
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    int result = -1;
    if (take("-")) {
      const int operand = unary();
      result = add({.kind = Kind::kOp, .op = ScalarOp::kNeg, .args = {operand, -1, -1}});
    } else if (take("!")) {
      const int operand = unary();
      result = add({.kind = Kind::kOp, .op = ScalarOp::kLogicalNot, .args = {operand, -1, -1}});
    } else {
      result = primary();
    }
    --depth_;
    return result;
  }

  int primary() {
    if (take("(")) {
      const int inner = conditional();
      return take(")") ? inner : fail("expected ')'");
    }
    if (take("\"")) return string_literal();
    skip_space();
    if (at_end()) return fail("unexpected end");
    const char c = text_[position_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    if (!is_name_char(c)) return fail("unexpected character");
    const std::string_view name = take_name();
    if (!take("(")) return add({.kind = Kind::kName, .text = std::string(name)});
    return name == "given" ? given() : call(name);
  }

  int string_literal() {
    const std::size_t end = text_.find('"', position_);
    if (end == std::string_view::npos) return fail("unterminated string");
    const std::string text(text_.substr(position_, end - position_));
    position_ = end + 1;
    return add({.kind = Kind::kString, .text = text});
  }

  int number() {
    std::size_t end = position_;
    bool is_float = false;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool exponent_sign =
          (c == '-' || c == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != 'e' && c != 'E' &&
          !exponent_sign) {
        break;
      }
      is_float |= c == '.' || c == 'e' || c == 'E';
      ++end;
    }
    ExpressionNode node{.kind = is_float ? Kind::kFloat : Kind::kInt};
    const char* first = text_.data() + position_;
    const char* last = text_.data() + end;
    const auto parsed = is_float ? std::from_chars(first, last, node.number)
                                 : std::from_chars(first, last, node.integer);
    if (parsed.ec != std::errc() || parsed.ptr != last) return fail("malformed number");
    position_ = end;
    return add(std::move(node));
  }

  int given() {
    skip_space();
    const std::string name(take_name());
    if (name.empty() || !take(")")) return fail("expected given(name)");
    return add({.kind = Kind::kGiven, .text = name});
  }

  int call(std::string_view name) {
    const std::optional<ScalarOp> op = parse_scalar_op(name);
    if (!op || info(*op).arity < 1) return fail("unknown operation '" + std::string(name) + "'");
    ExpressionNode node{.kind = Kind::kOp, .op = *op};
    const int arity = info(*op).arity;
    for (int i = 0; i < arity; ++i) {
      if (i > 0 && !take(","))
        return fail("'" + std::string(name) + "' takes " + std::to_string(arity) + " operands");
      node.args[static_cast<std::size_t>(i)] = conditional();
    }
    if (!take(")")) return fail("expected ')'");
    return add(std::move(node));
  }

  const InfixOperator* take_operator(std::size_t level) {
    for (const InfixOperator& candidate : kLevels[level]) {
      if (take(candidate.text)) return &candidate;
    }
    return nullptr;
  }

  void skip_space() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0)
      ++position_;
  }
  bool at_end() { return position_ >= text_.size(); }
  bool take(std::string_view token) {
    if (error_) return false;
    skip_space();
    if (!text_.substr(position_).starts_with(token)) return false;
    // "!" must not swallow the first half of "!=", a comparison.
    if (token == "!" && text_.substr(position_).starts_with("!=")) return false;
    position_ += token.size();
    skip_space();
    return true;
  }
  std::string_view take_name() {
    const std::size_t start = position_;
    while (!at_end() && is_name_char(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }
  int add(ExpressionNode node) {
    if (error_) return -1;
    expression_.nodes.push_back(std::move(node));
    return expression_.root();
  }
  int fail(const std::string& what) {
    if (!error_) {
      error_ = user_error("expression.syntax", "expression: " + what + " at column " +
                                                   std::to_string(position_ + 1) + " of '" +
                                                   std::string(text_) + "'");
    }
    return -1;
  }

  static constexpr int kMaxDepth = 200;
  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
  Expression expression_;
  std::optional<Error> error_;
};

std::string print_node(const Expression& expression, int index) {
  const ExpressionNode& node = expression.nodes[static_cast<std::size_t>(index)];
  const auto arg = [&](std::size_t i) { return print_node(expression, node.args[i]); };
  switch (node.kind) {
    case Kind::kInt:
      return std::to_string(node.integer);
    case Kind::kFloat: {
      std::array<char, 40> buffer{};
      const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), node.number);
      std::string text(buffer.data(), end.ptr);
      return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    }
    case Kind::kString:
      return "\"" + node.text + "\"";
    case Kind::kName:
      return node.text;
    case Kind::kGiven:
      return "given(" + node.text + ")";
    case Kind::kConditional:
      return "(" + arg(0) + " ? " + arg(1) + " : " + arg(2) + ")";
    case Kind::kOp: {
      std::string text = std::string(info(node.op).name) + "(";
      for (std::size_t i = 0; i < static_cast<std::size_t>(info(node.op).arity); ++i) {
        text += (i > 0 ? ", " : "") + arg(i);
      }
      return text + ")";
    }
  }
  TRIPTYCH_UNREACHABLE("expression node kind");
}

}  // namespace

std::vector<std::string_view> Expression::names() const {
  std::vector<std::string_view> found;
  for (const ExpressionNode& node : nodes) {
    const bool is_name = node.kind == Kind::kName || node.kind == Kind::kGiven;
    if (is_name && std::find(found.begin(), found.end(), node.text) == found.end()) {
      found.emplace_back(node.text);
    }
  }
  return found;
}

std::string Expression::str() const { return nodes.empty() ? "" : print_node(*this, root()); }

Result<Expression> parse_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace triptych::loops
