#include "support/scanner.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

using triptych::format_double;
using triptych::quote;
using triptych::Scanner;

TEST_CASE("tokens") {
  Scanner scanner("kernel k0(%x) 12 -3 aten::add.Tensor 2d", "test");
  CHECK(!scanner.accept("kern"));  // a word goes on
  CHECK(scanner.accept("kernel"));
  CHECK(scanner.word() == "k0");
  CHECK(scanner.adjacent());
  CHECK(scanner.expect("(").ok());
  CHECK(scanner.accept("%"));
  CHECK(scanner.word() == "x");
  CHECK(scanner.accept(")"));
  CHECK(scanner.integer().value() == 12);
  CHECK(scanner.integer().value() == -3);
  CHECK(scanner.dotted_word() == "aten::add.Tensor");
  CHECK(scanner.word().empty());
  CHECK(!scanner.at_end());
}

TEST_CASE("errors name line, column, what was found and what was expected") {
  Scanner scanner("one\n  two", "test.code");
  CHECK(scanner.accept("one"));
  const triptych::Error error = scanner.expect(":").error();
  CHECK(error.message == "line 2, column 3: found 'two', expected ':'");
  CHECK(error.code == "test.code");
}

TEST_CASE("strings round-trip") {
  for (const std::string text :
       {"", "plain", "a \"b\" \\ c", "line\nnext\ttab", "\x01\x7f\xc3\xa9"}) {
    const std::string quoted = quote(text);
    CHECK(Scanner(quoted, "test").quoted().value() == text);
    CHECK(quoted.find('\n') == std::string::npos);
  }
  CHECK(!Scanner("\"open", "test").quoted().ok());
  CHECK(!Scanner("\"bad \\q\"", "test").quoted().ok());
  CHECK(!Scanner("\"cut \\", "test").quoted().ok());
}

TEST_CASE("floats round-trip to the bit") {
  std::mt19937_64 random(1);
  std::vector<double> values{0.0,
                             -0.0,
                             1.0,
                             0.1,
                             1e300,
                             5e-324,
                             std::numeric_limits<double>::quiet_NaN(),
                             -std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
  for (int i = 0; i < 2000; ++i) values.push_back(std::bit_cast<double>(random()));
  for (const double value : values) {
    const std::string text = format_double(value);
    CAPTURE(text);
    const double back = Scanner(text, "test").number().value();
    REQUIRE(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value));
  }
  CHECK(format_double(1.0) == "1.0");
  CHECK(format_double(1e-5) == "1e-05");
  CHECK(format_double(-0.0) == "-0.0");
}
