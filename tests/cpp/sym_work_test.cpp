// The work on a symbolic integer is bounded by its size. Steps are counted, so that these tests say
// the same on every machine.
#include <doctest/doctest.h>

#include "ir/sym_expr.h"
#include "ir/sym_node.h"
#include "ir/sym_proof.h"
#include "ir/sym_size.h"

using namespace triptych::ir;

namespace {

SymRanges sizes() {  // at least 2, as the sizes of a trace are
  SymRanges ranges;
  for (const char* name : {"batch", "height", "width", "kernel", "pad"}) {
    ranges.set(Symbol(name), {2, SymRange::kPositiveInfinity});
  }
  return ranges;
}

SymExpr convolved(const SymExpr& size, int stride) {
  const SymExpr kernel = SymExpr::symbol("kernel"), pad = SymExpr::symbol("pad");
  return floordiv(size + pad * 2 - kernel, stride) + 1;
}

// The number of elements after `layers` convolutions, the first of stride 2.
SymExpr elements(int layers) {
  SymExpr height = SymExpr::symbol("height"), width = SymExpr::symbol("width");
  for (int i = 0; i < layers; ++i) {
    height = convolved(height, i == 0 ? 2 : 1);
    width = convolved(width, i == 0 ? 2 : 1);
  }
  return SymExpr::symbol("batch") * 24 * height * width;
}

// A window of 7 is filled up, and every second row is taken.
SymExpr merged(const SymExpr& size) {
  const SymExpr padded = size + mod(SymExpr(7) - mod(size, 7), 7);
  return floordiv(padded + mod(padded, 2) + 1, 2);
}

}  // namespace

TEST_CASE("a proof that fails ends soon, however many terms could be replaced") {
  const SymRanges ranges = sizes();
  for (const int layers : {1, 2, 3, 8}) {
    SymProof proof(ranges);
    CHECK_FALSE(proof.nonnegative(elements(layers) - 1));
    CHECK(proof.steps() < 4000);
  }
}

TEST_CASE("simplifying nested divisions takes a bounded number of steps up to the largest size") {
  const SymRanges ranges = sizes();
  SymExpr size = SymExpr::symbol("height");
  for (int level = 1; level <= 5; ++level) {
    SymProof proof(ranges);
    size = simplify(merged(size), proof);
    CHECK(proof.steps() < 20000);
  }
}

TEST_CASE("what is simplified within its bounds has the value that it had") {
  const SymRanges ranges = sizes();
  for (const int layers : {1, 3, 6}) {
    const SymExpr e = elements(layers);
    SymExpr height = SymExpr::symbol("height");
    for (int i = 0; i < layers; ++i) height = merged(height);
    for (const SymExpr& written : {e, height, mod(e, 7) + floordiv(e, height)}) {
      const SymExpr simple = simplify(written, ranges);
      for (std::int64_t at = 20; at < 60; ++at) {
        const auto value = [&](Symbol symbol) -> std::optional<std::int64_t> {
          if (symbol == Symbol("kernel")) return 2 + at % 3;
          if (symbol == Symbol("pad")) return 2 + at % 2;
          return symbol == Symbol("width") ? at + 5 : at;
        };
        REQUIRE(written.evaluate(value).has_value());
        REQUIRE(simple.evaluate(value) == written.evaluate(value));
      }
    }
  }
}

TEST_CASE("the size of an expression is what it has when it is written out") {
  const SymExpr s = SymExpr::symbol("s"), t = SymExpr::symbol("t");
  CHECK(size_of(SymExpr(0)) == 0);
  CHECK(size_of(SymExpr(5)) == 1);
  CHECK(size_of(s) == 2);          // a term and its symbol
  CHECK(size_of(s * 3 + 1) == 3);  // and a constant
  CHECK(size_of(s * t + s) == 5);
  CHECK(size_of(floordiv(s + 1, 4)) == 1 + 1 + 3 + 1);
  SymExpr doubled = s;
  for (int i = 0; i < 200; ++i) doubled = atom_expr(make_call(AtomKind::kMin, doubled, doubled));
  CHECK(size_of(doubled) > (std::size_t{1} << 39));  // and no further
}
