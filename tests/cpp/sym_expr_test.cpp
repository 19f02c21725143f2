#include "ir/sym_expr.h"

#include <doctest/doctest.h>

using namespace triptych::ir;

namespace {

SymExpr parsed(std::string_view text) { return parse_sym_expr(text).value(); }

}  // namespace

TEST_CASE("sums and products are canonical") {
  CHECK(parsed("s0 + s1*2 - s0").str() == "2*s1");
  CHECK(parsed("(s0 + 1)*(s0 - 1)").str() == "s0*s0 - 1");
  CHECK(parsed("s1*s0 + 3 + i0*4").str() == "s0*s1 + 4*i0 + 3");
  CHECK(parsed("s0 - s0") == SymExpr(0));
  CHECK((SymExpr(3) * SymExpr(4)).constant() == 12);
}
