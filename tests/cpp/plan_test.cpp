// Memory placement, in-place sharing, formulas and assembled programs.
#include <doctest/doctest.h>

#include <random>

#include "codegen/loops/lower.h"
#include "codegen/mapping/map.h"
#include "codegen/plan/assemble.h"
#include "codegen/plan/in_place.h"
#include "codegen/plan/memory_plan.h"
#include "codegen/plan/program_text.h"
#include "codegen/plan/sym_program.h"
#include "golden.h"
#include "ops/op_table.h"
#include "round_trip.h"

namespace triptych {
namespace {

using ir::SymExpr;
using plan::Block;

std::vector<Block> random_blocks(std::mt19937& random, bool symbolic) {
  std::vector<Block> blocks(1 + random() % 40);
  for (Block& block : blocks) {
    block.bytes_hint = static_cast<std::int64_t>(random() % 4096);
    block.bytes = block.bytes_hint;
    if (symbolic && random() % 2 == 0) {
      block.bytes_hint *= 3;
      block.bytes = block.bytes * SymExpr::symbol("s0");
    }
    block.first = random() % 30;
    block.last = block.first + random() % 10;
  }
  return blocks;
}

std::int64_t value(const SymExpr& expr, std::int64_t s0) {
  return expr.evaluate([&](ir::Symbol) { return std::optional<std::int64_t>(s0); }).value();
}

// Two blocks alive at once never share a byte, whatever the symbol's value is.
void check_disjoint(const std::vector<Block>& blocks, const plan::MemoryPlan& plan,
                    std::int64_t s0) {
  REQUIRE(plan.offsets.size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t begin = value(plan.offsets[i], s0);
    const std::int64_t end = begin + value(blocks[i].bytes, s0);
    CHECK(begin % plan::kAlignment == 0);
    CHECK(begin >= 0);
    CHECK(end <= value(plan.arena_bytes, s0));
    for (std::size_t j = 0; j < i; ++j) {
      if (!blocks[i].overlaps(blocks[j])) continue;
      const std::int64_t other = value(plan.offsets[j], s0);
      const bool apart = end <= other || other + value(blocks[j].bytes, s0) <= begin;
      CHECK_MESSAGE(apart, "blocks ", i, " and ", j);
    }
  }
}

TEST_CASE("blocks alive at once never overlap, constant sizes") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Block> blocks = random_blocks(random, false);
    const plan::MemoryPlan plan = plan::plan_memory(blocks);
    check_disjoint(blocks, plan, 1);
    CHECK(value(plan.arena_bytes, 1) <= value(plan.bytes_without_reuse, 1));
  }
}

TEST_CASE("blocks alive at once never overlap, symbolic sizes away from their hints") {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Block> blocks = random_blocks(random, true);
    const plan::MemoryPlan plan = plan::plan_memory(blocks);
    for (const std::int64_t s0 : {1, 3, 7, 1000}) check_disjoint(blocks, plan, s0);
  }
}

TEST_CASE("a chain of equal blocks needs two") {
  std::vector<Block> blocks;
  for (std::uint32_t i = 0; i < 10; ++i) blocks.push_back({SymExpr(1000), 1000, i, i + 1});
  CHECK(plan::plan_memory(blocks).arena_bytes == SymExpr(2048));
  CHECK(plan::plan_memory(blocks, false).arena_bytes == SymExpr(10240));
  for (Block& block : blocks) block.bytes = SymExpr(10) * SymExpr::symbol("s0");
  const plan::MemoryPlan plan = plan::plan_memory(blocks);
  CHECK(value(plan.arena_bytes, 100) == 2048);
}

TEST_CASE("formulas evaluate as SymExpr does") {
  const std::vector<ir::Symbol> symbols = {ir::Symbol("s0"), ir::Symbol("s1")};
  for (const char* text :
       {"0", "-3", "s0", "4*s0*s1 - 7", "floordiv(s0 - 9, 4)", "mod(-s0, 5) + s1",
        "max(s0, 2*s1) - min(s0, s1)", "floordiv(s0*s1, 3)*2 + s0*s0"}) {
    plan::SymProgram program(symbols);
    const SymExpr expr = ir::parse_sym_expr(text).value();
    CHECK(program.add(expr) == 0);
    CHECK(program.add(expr) == 0);
    for (const std::int64_t s0 : {1, 2, 11}) {
      for (const std::int64_t s1 : {1, 5}) {
        std::vector<std::int64_t> result(1);
        const std::vector<std::int64_t> values = {s0, s1};
        REQUIRE(program.evaluate(values, result));
        const auto expected = expr.evaluate([&](ir::Symbol symbol) {
          return std::optional<std::int64_t>(symbol == symbols[0] ? s0 : s1);
        });
        CHECK(result[0] == expected.value());
      }
    }
  }
  plan::SymProgram division(symbols);
  division.add(ir::parse_sym_expr("floordiv(s0, s1)").value());
  std::vector<std::int64_t> result(1);
  CHECK_FALSE(division.evaluate(std::vector<std::int64_t>{4, 0}, result));
  for (const char* text : {"s0*s1", "s0 + s1", "s0*s0 - s1"}) {
    plan::SymProgram program(symbols);
    program.add(ir::parse_sym_expr(text).value());
    CHECK_FALSE(program.evaluate(std::vector<std::int64_t>{INT64_MAX, 2}, result));
  }
}

bool may_share(const char* text) {
  const auto kernel = loops::parse_kernel(text);
  REQUIRE_MESSAGE(kernel.ok(), kernel.error().describe());
  return plan::may_share_memory(kernel.value(), loops::BufferId{0}, loops::BufferId{1});
}

TEST_CASE("in place: load and store at one index") {
  CHECK(may_share(R"(kernel k(in %x: f32[8], out %y: f32[8]) {
    for i0 in 8 { v0 = load %x[i0]; v1 = neg v0; store %y[i0], v1 }
  })"));
}

TEST_CASE("not in place: another index, another width, a load behind the store") {
  CHECK_FALSE(may_share(R"(kernel k(in %x: f32[8], out %y: f32[8]) {
    for i0 in 8 { v0 = load %x[-i0 + 7]; v1 = neg v0; store %y[i0], v1 }
  })"));
  CHECK_FALSE(may_share(R"(kernel k(in %x: f32[8], out %y: f64[8]) {
    for i0 in 8 { v0 = load %x[i0]; v1 = cast v0 : f64; store %y[i0], v1 }
  })"));
  CHECK_FALSE(may_share(R"(kernel k(in %x: f32[8], out %y: f32[8]) {
    for i0 in 8 { v0 = const 1.0 : f32; store %y[i0], v0 }
    for i1 in 8 { v1 = load %x[i1]; v2 = neg v1; store %y[i1], v2 }
  })"));
}

TEST_CASE("in place: a row kernel that reads its row before it writes it") {
  CHECK(may_share(R"(kernel k(in %x: f32[32], out %y: f32[32]) {
    for i0 in 4 {
      for i1 in 8 reduce(v1 = sum v0) { v0 = load %x[8*i0 + i1] }
      for i2 in 8 { v2 = load %x[8*i0 + i2]; v3 = sub v2, v1; store %y[8*i0 + i2], v3 }
    }
  })"));
  CHECK_FALSE(may_share(R"(kernel k(in %x: f32[32], out %y: f32[32]) {
    for i0 in 4 {
      for i1 in 8 reduce(v1 = sum v0) { v0 = load %x[4*i1 + i0] }
      for i2 in 8 { v2 = const 1.0 : f32; store %y[8*i0 + i2], v2 }
    }
  })"));
}

plan::Program assembled(const char* text) {
  const auto graph = ops::parse_graph(text);
  REQUIRE_MESSAGE(graph.ok(), graph.error().describe());
  auto loops = loops::lower(graph.value());
  REQUIRE_MESSAGE(loops.ok(), loops.error().describe());
  auto program = plan::assemble(loops.value());
  REQUIRE_MESSAGE(program.ok(), program.error().describe());
  CHECK(plan::verify(program.value()).empty());
  const ir::ConstantBytes constants = testing::bytes_of(program.value().constants);
  const auto parse = [&](const std::string& text) { return plan::parse_program(text, constants); };
  CHECK(testing::round_trip_complaint(program.value(), parse) == "");
  return std::move(program).value();
}

TEST_CASE("program: kernels in place between an input and an output") {
  testing::check_golden("plan/in_place_chain.txt",
                        plan::print_steps(assembled(R"(graph chain normalized {
  %x: f32[4, 8] = input.user("x")
  %a: f32[4, 8] = aten.neg.default(%x)
  %b: f32[4, 8] = aten.exp.default(%a)
  %c: f32[4, 8] = aten.sin.default(%b)
  output %c
})")));
}

TEST_CASE("program: external results are freed, views cost nothing, a view of an input is copied") {
  testing::check_golden("plan/external_and_views.txt",
                        plan::print_steps(assembled(R"(graph views normalized {
  %x: f32[4, 8] = input.user("x")
  %w: f32[6, 8] = input.parameter("w")
  %t: f32[8, 6] strides=[1, 8] = aten.permute.default(%w, [1, 0])
  %m: f32[4, 6] = aten.mm.default(%x, %t)
  %v: f32[24] = aten.view.default(%m, [24])
  %y: f32[24] = aten.neg.default(%v)
  output %y
  output %t
})")));
}

TEST_CASE("program: symbolic sizes are formulas") {
  testing::check_golden("plan/symbolic.txt",
                        plan::print_steps(assembled(R"(graph symbolic normalized {
  symbol s0 in [2, inf] hint 5
  %x: f32[s0, 8] = input.user("x")
  %a: f32[s0, 8] = aten.neg.default(%x)
  %t: f32[8, s0] strides=[1, 8] = aten.permute.default(%a, [1, 0])
  %m: f32[s0, s0] = aten.mm.default(%a, %t)
  %b: f32[s0, s0] = aten.exp.default(%m)
  output %b
  output literal s0
})")));
}

constexpr const char* kEveryPart =
    R"(kernel k0_neg[s0](in %x: f32[8*s0], out %a: f32[8*s0]) from (neg) {
  for i0 in 8*s0 parallel vector(8) {
    v0 = load %x[i0]
    v1 = neg v0
    store %a[i0], v1
  }
}

program {
  symbol s0 in [2, inf] hint 5
  symbol s1 in [-inf, 64] hint 3
  guard s0 <= 128 because "the \"mask\""
  guard s0 != s1
  op program_text_test::step(Tensor x, float by, *, str how="up") -> Tensor
  input    %x: f32[s0, 8] = user("x")
  input    %w: bf16[4] device="cuda:1" requires_grad = parameter("layer.w")
  scalar   %n: int(s1) = user("n")
  constant %c: f32[2] = "c"
  arena    %a: f32[s0, 8] at 64, 32*s0 bytes
  view     %t: f32[8, s0] strides=[1, 8] offset=3 of %a
  external %m: f32[s0, s0]
  arena    %o: f32[s0, s0] at 0, 4*s0*s0 bytes
  output   %y: f32[s0, 8]
  scalar   %k: int(2*s0 + 1)
  arena 64*floordiv(s0 + 1, 2) bytes (128*s0 without reuse)
  symbol s0 = size 0 of %x
  symbol s1 = value of %n

  launch k0_neg(%x, %a; s0)
  %m = program_text_test.step.default(%a, nan, "up")
  %o = aten.mm.out(%a, %t) for aten.mm.default
  launch k0_neg(%o, %y; s0)
  call program_text_test.step.default(%y, -inf, "down")
  free %m
  copy %a to %x
  in place copy %o to %x
  set metadata of %x as f32[8, s0] strides=[1, 8]
  return %y, copy of %c, input %x, view of input %x as f32[8], view of output 0 as f32[24], same as output 0, literal 2*s0, literal None, hidden %o
}
)";

TEST_CASE("program text: every part prints as it is read") {
  const auto program = plan::parse_program(kEveryPart);
  REQUIRE_MESSAGE(program.ok(), program.error().describe());
  CHECK(plan::print(program.value()) == kEveryPart);
  CHECK(testing::round_trip_complaint(program.value(), [](const std::string& text) {
          return plan::parse_program(text);
        }) == "");
  CHECK(program.value().inputs.size() == 3);
  CHECK(program.value().outputs.back().hidden);
}

TEST_CASE("program text: equality sees every difference") {
  const plan::Program program = plan::parse_program(kEveryPart).value();
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"at 64, 32*s0", "at 128, 32*s0"},
           {"offset=3", "offset=4"},
           {"nan", "0.0"},
           {"-inf, \"down\"", "inf, \"down\""},
           {"copy of %c", "%c"},
           {"hidden %o", "%o"},
           {"as f32[24]", "as f32[23]"},
           {"hint 3", "hint 4"},
           {"s0 != s1", "s0 == s1"},
           {"parameter(", "buffer("},
           {"from (neg)", "from (minus)"},
           {"v1 = neg v0", "v1 = abs v0"},
           {"parallel vector(8)", "parallel vector(16)"},
           {"aten.mm.out(%a, %t) for aten.mm.default", "aten.mm.default(%a, %t)"},
           {"(128*s0 without", "(64*s0 without"},
           {"same as output 0", "same as output 1"},
           {"free %m", "free %o"},
           {"in place copy", "copy"},
           {"size 0 of %x", "stride 0 of %x"}}) {
    std::string text = kEveryPart;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(from).size(), to);
    const auto other = plan::parse_program(text);
    REQUIRE_MESSAGE(other.ok(), other.error().describe());
    INFO(to);
    CHECK_FALSE(plan::equal(program, other.value()));
    CHECK(plan::print(other.value()) == text);
  }
}

TEST_CASE("program text: mistakes are refused with their line") {
  const auto error = [](std::string from, const std::string& to) {
    std::string text = kEveryPart;
    text.replace(text.find(from), from.size(), to);
    const auto program = plan::parse_program(text);
    return program.ok() ? std::string("accepted") : program.error().describe();
  };
  CHECK(error("launch k0_neg(%x", "launch k1_neg(%x").find("line 29") != std::string::npos);
  CHECK(error("launch k0_neg(%x", "launch k0_neg(%z").find("a declared slot") != std::string::npos);
  CHECK(error("aten.mm.out(", "aten.bmm.out(").find("the out form of") != std::string::npos);
  CHECK(error("scalar   %n", "arena   %n").find("line 17") != std::string::npos);
  CHECK(error("copy %a to %x", "copy %a to %a").find("an input") != std::string::npos);
  CHECK(plan::parse_program("kernel k() {}\n").error().message == "found no 'program { ... }'");
}

TEST_CASE("program verifier: what a step reads is there") {
  std::string text = kEveryPart;
  CHECK(plan::verify(plan::parse_program(text).value()).empty());
  const std::string launch = "  launch k0_neg(%x, %a; s0)\n";
  text.erase(text.find(launch), launch.size());
  const auto errors = plan::verify(plan::parse_program(text).value());
  REQUIRE(!errors.empty());
  CHECK(errors[0].message == "program_text_test.step.default reads %a, which holds nothing there");
}

}  // namespace
}  // namespace triptych
