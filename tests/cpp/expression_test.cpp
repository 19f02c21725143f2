#include "codegen/loops/expression.h"

#include <doctest/doctest.h>

#include "ops/op_table.h"

namespace triptych::loops {
namespace {

std::string parsed(std::string_view text) {
  const Result<Expression> expression = parse_expression(text);
  return expression.ok() ? expression.value().str() : "error: " + expression.error().message;
}

TEST_CASE("precedence: || && comparison sum product unary") {
  CHECK(parsed("a + b * c") == "add(a, mul(b, c))");
  CHECK(parsed("a - b - c") == "sub(sub(a, b), c)");
  CHECK(parsed("-a * b") == "mul(neg(a), b)");
  CHECK(parsed("a < b && !c || d") == "logical_or(logical_and(lt(a, b), logical_not(c)), d)");
  CHECK(parsed("a != b") == "ne(a, b)");
  CHECK(parsed("(a + b) / 2") == "div(add(a, b), 2)");
}

TEST_CASE("conditions, calls, literals") {
  CHECK(parsed("m == \"tanh\" ? tanh(x) : x") == "(eq(m, \"tanh\") ? tanh(x) : x)");
  CHECK(parsed("a ? b : c ? d : e") == "(a ? b : (c ? d : e))");
  CHECK(parsed("given(max) ? min(x, max) : x") == "(given(max) ? min(x, max) : x)");
  CHECK(parsed("select(x > 0, x, 1e-3)") == "select(gt(x, 0), x, 0.001)");
  CHECK(parsed("0.5 * 2.0") == "mul(0.5, 2.0)");
}

TEST_CASE("errors say what and where") {
  CHECK(parsed("a +").find("unexpected end at column 4") != std::string::npos);
  CHECK(parsed("foo(a)").find("unknown operation 'foo'") != std::string::npos);
  CHECK(parsed("max(a)").find("takes 2 operands") != std::string::npos);
  CHECK(parsed("(a").find("expected ')'") != std::string::npos);
  CHECK(parsed("a b").find("unexpected text") != std::string::npos);
  CHECK(parsed("a ? b").find("expected ':'") != std::string::npos);
  CHECK(parsed("load(a)").find("unknown operation") != std::string::npos);
  CHECK(parsed("1.2.3").find("malformed number") != std::string::npos);
  CHECK(parsed(std::string(500, '-') + "a").find("nested too deeply") != std::string::npos);
}

TEST_CASE("every expression of the op table parses, round-trips and reads only arguments") {
  const std::vector<std::string_view> constants = {"inf",      "nan",     "true",   "false",
                                                   "floating", "float16", "largest"};
  for (const ops::OpInfo& op : ops::all()) {
    if (op.expression.empty()) continue;
    CAPTURE(op.name);
    const Result<Expression> expression = parse_expression(op.expression);
    REQUIRE_MESSAGE(expression.ok(), (expression.ok() ? "" : expression.error().message));
    CHECK(parsed(expression.value().str()) == expression.value().str());
    const Result<ir::Schema> schema = ir::parse_schema(op.schema);
    REQUIRE(schema.ok());
    for (const std::string_view name : expression.value().names()) {
      const bool constant = std::find(constants.begin(), constants.end(), name) != constants.end();
      CHECK_MESSAGE((constant || schema.value().find(name).has_value()), std::string(name));
    }
  }
}

}  // namespace
}  // namespace triptych::loops
