#include "ir/sym_expr.h"

#include <map>
#include <random>

#include <doctest/doctest.h>

using namespace triptych::ir;

namespace {

SymExpr parsed(std::string_view text) {
  auto result = parse_sym_expr(text);
  REQUIRE_MESSAGE(result.ok(), std::string(text));
  return std::move(result).value();
}

std::string simplified(std::string_view text, const SymRanges& ranges) {
  return simplify(parsed(text), ranges).str();
}

// s0, s1: sizes; i0 < s0, i1 < s1, i2 < 6: loop variables; n: any small number.
SymRanges test_ranges() {
  SymRanges ranges;
  ranges.set(Symbol("s0"), {1, 9});
  ranges.set(Symbol("s1"), {2, SymRange::kPositiveInfinity});
  ranges.set(Symbol("n"), {-5, 5});
  ranges.set_extent(Symbol("i0"), SymExpr::symbol("s0"));
  ranges.set_extent(Symbol("i1"), SymExpr::symbol("s1"));
  ranges.set_extent(Symbol("i2"), 6);
  return ranges;
}

using Bindings = std::map<std::string, std::int64_t>;

Bindings random_bindings(std::mt19937& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Bindings out{{"s0", pick(1, 9)}, {"s1", pick(2, 12)}, {"n", pick(-5, 5)}, {"i2", pick(0, 5)}};
  out["i0"] = pick(0, out["s0"] - 1);
  out["i1"] = pick(0, out["s1"] - 1);
  return out;
}

std::optional<std::int64_t> evaluated(const SymExpr& e, const Bindings& bindings) {
  return e.evaluate(
      [&](Symbol symbol) -> std::optional<std::int64_t> { return bindings.at(symbol.str()); });
}

// An expression as written, with an evaluator of its own.
struct Tree {
  char op = 'c';  // c: constant, v: variable, + - * / % m (min) M (max)
  std::int64_t value = 0;
  std::string name;
  std::vector<Tree> operands;
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  if (q * b != a && (a < 0) != (b < 0)) --q;
  return q;
}

std::int64_t value_of(const Tree& tree, const Bindings& bindings) {
  if (tree.op == 'c') return tree.value;
  if (tree.op == 'v') return bindings.at(tree.name);
  const std::int64_t a = value_of(tree.operands[0], bindings),
                     b = value_of(tree.operands[1], bindings);
  switch (tree.op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return floor_div(a, b);
    case '%':
      return a - b * floor_div(a, b);
    case 'm':
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

// `swapped`: with the operands of commutative operations exchanged.
SymExpr expr_of(const Tree& tree, bool swapped) {
  if (tree.op == 'c') return tree.value;
  if (tree.op == 'v') return SymExpr::symbol(tree.name);
  const SymExpr a = expr_of(tree.operands[0], swapped), b = expr_of(tree.operands[1], swapped);
  switch (tree.op) {
    case '+':
      return swapped ? b + a : a + b;
    case '-':
      return swapped ? -b + a : a - b;
    case '*':
      return swapped ? b * a : a * b;
    case '/':
      return floordiv(a, b);
    case '%':
      return mod(a, b);
    case 'm':
      return swapped ? min(b, a) : min(a, b);
    default:
      return swapped ? max(b, a) : max(a, b);
  }
}

Tree random_divisor(std::mt19937& random) {
  static constexpr std::int64_t kDivisors[] = {1, 2, 3, 4, 6, 8, 12, -2, -3};
  const auto pick = random() % 13;
  if (pick < 9) return Tree{'c', kDivisors[pick], {}, {}};
  const Tree size{'v', 0, pick % 2 == 0 ? "s0" : "s1", {}};
  if (pick < 11) return size;
  return Tree{'*', 0, {}, {Tree{'c', 1 + static_cast<std::int64_t>(random() % 4), {}, {}}, size}};
}

Tree random_tree(std::mt19937& random, int depth) {
  static constexpr const char* kNames[] = {"s0", "s1", "n", "i0", "i1", "i2"};
  static constexpr char kOps[] = {'+', '+', '+', '-', '*', '*', '/', '/', '%', '%', 'm', 'M'};
  if (depth == 0 || random() % 6 == 0) {
    if (random() % 3 == 0) return Tree{'c', static_cast<std::int64_t>(random() % 13) - 4, {}, {}};
    return Tree{'v', 0, kNames[random() % 6], {}};
  }
  const char op = kOps[random() % 12];
  Tree left = random_tree(random, depth - 1);
  Tree right = op == '/' || op == '%' ? random_divisor(random) : random_tree(random, depth - 1);
  return Tree{op, 0, {}, {std::move(left), std::move(right)}};
}

}  // namespace

TEST_CASE("sums and products are canonical") {
  CHECK(parsed("s0 + s1*2 - s0").str() == "2*s1");
  CHECK(parsed("(s0 + 1)*(s0 - 1)").str() == "s0*s0 - 1");
  CHECK(parsed("s1*s0 + 3 + i0*4").str() == "s0*s1 + 4*i0 + 3");
  CHECK(parsed("s0 - s0") == SymExpr(0));
  CHECK((SymExpr(3) * SymExpr(4)).constant() == 12);
  CHECK(parsed("-s0 - 1").str() == "-s0 - 1");
}

TEST_CASE("division rules that need no ranges") {
  CHECK(parsed("floordiv(8*s0 + s1 + 5, 4)").str() == "2*s0 + floordiv(s1 + 1, 4) + 1");
  CHECK(parsed("floordiv(4*s0 + 6, 8)").str() == "floordiv(s0 + 1, 2)");
  CHECK(parsed("floordiv(floordiv(s0, 4), 2)").str() == "floordiv(s0, 8)");
  CHECK(parsed("floordiv(floordiv(s0, 2) + 1, 2)").str() == "floordiv(s0 + 2, 4)");
  CHECK(parsed("mod(4*s0 + 6, 8)").str() == "4*mod(s0 + 1, 2) + 2");
  CHECK(parsed("mod(mod(s0, 8), 4)").str() == "mod(s0, 4)");
  CHECK(parsed("floordiv(s0*s1, s1)").str() == "s0");
  CHECK(parsed("floordiv(s0*s1 + s0, s1 + 1)").str() == "s0");
  CHECK(parsed("floordiv(s0*s1*4, 2*s1)").str() == "2*s0");
  CHECK(parsed("floordiv(-7, 2)").constant() == -4);
  CHECK(parsed("mod(-7, 2)").constant() == 1);
  CHECK(parsed("mod(7, -2)").constant() == -1);
  CHECK(ceildiv(SymExpr::symbol("s0"), 4).str() == "floordiv(s0 + 3, 4)");
  CHECK(parsed("-floordiv(-s0, 4)") == parsed("floordiv(s0 + 3, 4)"));
}

TEST_CASE("min and max are flat, sorted and drop what another operand decides") {
  CHECK(parsed("min(s1, s0)") == parsed("min(s0, s1)"));
  CHECK(parsed("min(s0, s0 + 1)").str() == "s0");
  CHECK(parsed("max(max(s0, 3), max(s1, s0 + 2))") == parsed("max(s1, max(3, s0 + 2))"));
  CHECK(parsed("max(3, 5)").constant() == 5);
}

TEST_CASE("simplify uses ranges") {
  const SymRanges ranges = test_ranges();
  CHECK(simplified("floordiv(6*i0 + i2, 6)", ranges) == "i0");
  CHECK(simplified("mod(6*i0 + i2, 6)", ranges) == "i2");
  CHECK(simplified("floordiv(i0*s1 + i1, s1)", ranges) == "i0");
  CHECK(simplified("mod(i0*s1 + i1, s1)", ranges) == "i1");
  CHECK(simplified("floordiv(n*s0*s1 + i0*s1 + i1, s0*s1)", ranges) == "n");
  CHECK(simplified("mod(i0*s1 + i1, s0*s1)", ranges) == "i0*s1 + i1");
  CHECK(simplified("floordiv(6*n + i2, 12)", ranges) == "floordiv(n, 2)");
  CHECK(simplified("mod(6*n + i2, 12)", ranges) == "i2 + 6*mod(n, 2)");
  CHECK(simplified("floordiv(floordiv(n, s0), s1)", ranges) == "floordiv(n, s0*s1)");
  CHECK(simplified("4*floordiv(n, 4) + mod(n, 4)", ranges) == "n");
  CHECK(simplified("12*floordiv(n, 12) + 4*mod(floordiv(n, 4), 3) + mod(n, 4)", ranges) == "n");
  CHECK(simplified("n - 4*floordiv(n, 4)", ranges) == "mod(n, 4)");
  CHECK(simplified("min(i0, s0)", ranges) == "i0");
  CHECK(simplified("max(s0*s1, s0)", ranges) == "s0*s1");
  CHECK(simplified("floordiv(i2, 6)", ranges) == "0");
  CHECK(simplified("floordiv(1, s1)", ranges) == "0");
}

TEST_CASE("comparisons are three-valued") {
  const SymRanges ranges = test_ranges();
  CHECK(known_lt(parsed("i0*s1 + i1"), parsed("s0*s1"), ranges) == true);
  CHECK(known_le(parsed("s0"), parsed("s0*s1"), ranges) == true);
  CHECK(known_lt(parsed("s0*s1"), parsed("s0"), ranges) == false);
  CHECK(known_le(parsed("4*floordiv(s1, 4)"), parsed("s1"), ranges) == true);
  CHECK(known_le(parsed("s0"), parsed("s1"), ranges) == std::nullopt);
  CHECK(known_eq(parsed("s0"), parsed("s0 + 1"), ranges) == false);
  CHECK(known_eq(parsed("s0"), parsed("10*s1"), ranges) == false);
  CHECK(known_eq(parsed("s0"), parsed("s1"), ranges) == std::nullopt);
  CHECK(known_eq(parsed("mod(6*n + i2, 6)"), parsed("i2"), ranges) == true);
}

TEST_CASE("a linear expression comes apart") {
  const auto linear = parsed("i0*s1 + 4*i0 + i1 + 7").linear_in(Symbol("i0"));
  REQUIRE(linear);
  CHECK(linear->coefficient->str() == "s1 + 4");
  CHECK(linear->rest->str() == "i1 + 7");
  CHECK(!parsed("i0*i0").linear_in(Symbol("i0")));
  CHECK(!parsed("floordiv(i0, 2)").linear_in(Symbol("i0")));
  CHECK(parsed("floordiv(i1, 2)").linear_in(Symbol("i0"))->coefficient->str() == "0");
}

TEST_CASE("parts of an expression") {
  const SymExpr e = parsed("2*s0*s1 + mod(n, 3) + 5");
  REQUIRE(e.terms().size() == 3);
  CHECK(e.terms()[0].coefficient == 2);
  CHECK(e.terms()[0].atoms.size() == 2);
  CHECK(e.terms()[2].coefficient == 5);
  const auto call = parsed("mod(n, 3)").as_call();
  REQUIRE(call);
  CHECK(call->op == "mod");
  CHECK(call->a->str() == "n");
  CHECK(!e.as_call());
  std::string names;
  for (const Symbol symbol : e.symbols()) names += symbol.str() + " ";
  CHECK(names == "n s0 s1 ");
  CHECK(e.depends_on(Symbol("n")));
  CHECK(!e.depends_on(Symbol("i0")));
}

TEST_CASE("substitution rebuilds") {
  const auto by = [](Symbol symbol) -> std::optional<SymExpr> {
    if (symbol.str() == "s0") return parsed("4*s1");
    return std::nullopt;
  };
  CHECK(parsed("floordiv(s0, 4) + s0 + n").substitute(by).str() == "n + 5*s1");
  CHECK(parsed("n + 1").substitute(by) == parsed("n + 1"));
}

TEST_CASE("what cannot be evaluated is nullopt") {
  const auto zero = [](Symbol) -> std::optional<std::int64_t> { return 0; };
  const auto unbound = [](Symbol) -> std::optional<std::int64_t> { return std::nullopt; };
  const auto large = [](Symbol) -> std::optional<std::int64_t> { return INT64_MAX; };
  CHECK(!parsed("floordiv(3, s0)").evaluate(zero));
  CHECK(!parsed("mod(3, s0)").evaluate(zero));
  CHECK(!parsed("s0 + 1").evaluate(unbound));
  CHECK(!parsed("s0*s0").evaluate(large));
  CHECK(!parsed("s0 + 1").evaluate(large));
}

TEST_CASE("random expressions: every form has the value of what was written") {
  std::mt19937 random(20240917);
  const SymRanges ranges = test_ranges();
  for (int round = 0; round < 3000; ++round) {
    const Tree tree = random_tree(random, 4);
    const SymExpr e = expr_of(tree, false);
    const SymExpr simple = simplify(e, ranges);
    const SymRange range = e.range(ranges);
    CAPTURE(e.str());
    CAPTURE(simple.str());
    REQUIRE(expr_of(tree, true) == e);
    REQUIRE(expr_of(tree, true).hash() == e.hash());
    REQUIRE(parsed(e.str()) == e);
    REQUIRE(parsed(simple.str()) == simple);
    REQUIRE(simplify(simple, ranges) == simple);
    for (int sample = 0; sample < 8; ++sample) {
      const Bindings bindings = random_bindings(random);
      const std::int64_t expected = value_of(tree, bindings);
      REQUIRE(evaluated(e, bindings) == expected);
      REQUIRE(evaluated(simple, bindings) == expected);
      REQUIRE(range.low <= expected);
      REQUIRE(expected <= range.high);
      const auto bind = [&](Symbol symbol) {
        return std::optional(SymExpr(bindings.at(symbol.str())));
      };
      REQUIRE(e.substitute(bind) == SymExpr(expected));
    }
  }
}

TEST_CASE("random comparisons: what is known is true") {
  std::mt19937 random(77);
  const SymRanges ranges = test_ranges();
  int decided = 0;
  for (int round = 0; round < 2000; ++round) {
    const Tree left = random_tree(random, 2), right = random_tree(random, 2);
    const SymExpr a = expr_of(left, false), b = expr_of(right, false);
    const auto le = known_le(a, b, ranges), lt = known_lt(a, b, ranges),
               eq = known_eq(a, b, ranges);
    decided += le.has_value();
    CAPTURE(a.str());
    CAPTURE(b.str());
    for (int sample = 0; sample < 8; ++sample) {
      const Bindings bindings = random_bindings(random);
      const std::int64_t x = value_of(left, bindings), y = value_of(right, bindings);
      if (le) REQUIRE(*le == (x <= y));
      if (lt) REQUIRE(*lt == (x < y));
      if (eq) REQUIRE(*eq == (x == y));
    }
  }
  CHECK(decided > 500);
}

TEST_CASE("the order is total") {
  std::mt19937 random(5);
  std::vector<SymExpr> exprs;
  for (int i = 0; i < 60; ++i) exprs.push_back(expr_of(random_tree(random, 3), false));
  for (const SymExpr& a : exprs) {
    for (const SymExpr& b : exprs) {
      CHECK(SymExpr::compare(a, b) == -SymExpr::compare(b, a));
      CHECK((SymExpr::compare(a, b) == 0) == (a == b));
      for (const SymExpr& c : exprs) {
        if (SymExpr::compare(a, b) < 0 && SymExpr::compare(b, c) < 0)
          REQUIRE(SymExpr::compare(a, c) < 0);
      }
    }
  }
}

TEST_CASE("parse errors say where") {
  const auto message = [](std::string_view text) { return parse_sym_expr(text).error().message; };
  CHECK(message("s0 +") ==
        "line 1, column 5: found the end of the text, expected a symbolic integer");
  CHECK(message("s0 s1") == "line 1, column 4: found 's1', expected the end of the expression");
  CHECK(message("floordiv(s0, 0)") == "line 1, column 13: the divisor is zero");
  CHECK(message("9223372036854775807*2") == "line 1, column 1: this expression overflows 64 bits");
  CHECK(message("99999999999999999999").find("an integer of 64 bits") != std::string::npos);
  CHECK(parsed("-9223372036854775808").constant() == INT64_MIN);
  CHECK(parsed("s0 + -9223372036854775808").str() == "s0 + -9223372036854775808");
}
