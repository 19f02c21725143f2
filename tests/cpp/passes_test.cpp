#include <doctest/doctest.h>

#include "ir/graph_text.h"
#include "ir/verifier.h"
#include "ops/op_table.h"
#include "ops/passes/common_subexpression_elimination.h"
#include "ops/passes/dead_code_elimination.h"
#include "passes.h"

using namespace triptych;

namespace {

ir::Graph parsed(std::string_view body) {
  const std::string text =
      "graph g normalized {\n  op passes_test::log(Tensor x) -> Tensor\n"
      "  %x: f32[4] = input.user(\"x\")\n" +
      std::string(body) + "}";
  auto graph = ops::parse_graph(text);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().message));
  return std::move(graph).value();
}

// The targets that are left.
std::string targets(const ir::Graph& graph) {
  CHECK(ir::verify(graph).empty());
  std::string out;
  for (const ir::NodeId id : graph.order()) out += graph.node(id).target->name + " ";
  return out;
}

}  // namespace

TEST_CASE("dead code: chains nobody reads go, random and custom ops stay") {
  ir::Graph graph = parsed(R"(
  %a: f32[4] = aten.relu.default(%x)
  %b: f32[4] = aten.neg.default(%a)
  %c: f32[4] = aten.exp.default(%x)
  %r: f32[4] = aten.rand_like.default(%c)
  %l: f32[4] = passes_test.log.default(%x)
  %k: f32[4] = aten.sin.default(%x)
  output %k
)");
  REQUIRE(ops::dead_code_elimination(graph).ok());
  CHECK(targets(graph) ==
        "aten.exp.default aten.rand_like.default passes_test.log.default aten.sin.default ");
}

TEST_CASE("dead code: values written back to inputs are read") {
  ir::Graph graph = parsed("  %a: f32[4] = aten.relu.default(%x)\n  mutate input 0 to %a\n");
  REQUIRE(ops::dead_code_elimination(graph).ok());
  CHECK(targets(graph) == "aten.relu.default ");
}

TEST_CASE("common subexpressions: equal values once, through chains") {
  ir::Graph graph = parsed(R"(
  %a: f32[4] = aten.relu.default(%x)
  %b: f32[4] = aten.relu.default(%x)
  %c: f32[4] = aten.neg.default(%a)
  %d: f32[4] = aten.neg.default(%b)
  %e: f32[4] = aten.add.Tensor(%c, %d)
  output %e
)");
  REQUIRE(ops::common_subexpression_elimination(graph).ok());
  CHECK(targets(graph) == "aten.relu.default aten.neg.default aten.add.Tensor ");
  const auto& args = graph.node(graph.order()[2]).args;
  CHECK(args[0] == args[1]);
}

TEST_CASE("common subexpressions: other arguments, random, custom ops and outputs stay apart") {
  ir::Graph graph = parsed(R"(
  %a: f32[4] = aten.mul.Tensor(%x, 0.0)
  %b: f32[4] = aten.mul.Tensor(%x, -0.0)
  %r: f32[4] = aten.rand_like.default(%x)
  %s: f32[4] = aten.rand_like.default(%x)
  %l: f32[4] = passes_test.log.default(%x)
  %m: f32[4] = passes_test.log.default(%x)
  %o: f32[4] = aten.exp.default(%x)
  %p: f32[4] = aten.exp.default(%x)
  output %o
  output %p
)");
  const std::size_t before = graph.order().size();
  REQUIRE(ops::common_subexpression_elimination(graph).ok());
  CHECK(graph.order().size() == before);
}

// A pass from outside: nothing in the core knows it.
TEST_CASE("a toy pass is registered without an edit in the core") {
  opt::PassRegistry registry = opt::built_in_passes();
  registry.add(opt::graph_pass("reverse_adds", "swaps the operands of additions",
                               [](ir::Graph& graph) -> Status {
                                 for (const ir::NodeId id : graph.order()) {
                                   ir::Node& node = graph.node(id);
                                   if (node.target == ops::target(ops::Op::kAdd_Tensor))
                                     std::swap(node.args[0], node.args[1]);
                                 }
                                 return Unit{};
                               }));
  ir::Graph graph = parsed("  %a: f32[4] = aten.add.Tensor(%x, 1)\n  output %a\n");
  const opt::Pass* pass = registry.find("reverse_adds");
  REQUIRE(pass != nullptr);
  const auto after = pass->run(graph);
  REQUIRE(after.ok());
  CHECK(opt::print(after.value()).find("aten.add.Tensor(1, %x)") != std::string::npos);
  CHECK_FALSE(pass->run(std::vector<loops::Kernel>()).ok());
  CHECK(registry.find("nothing") == nullptr);
}
