#include "ir/verifier.h"

#include <doctest/doctest.h>

#include "ir/type_text.h"
#include "ops/op_table.h"

using namespace triptych;
using namespace triptych::ir;
using ops::Op;

namespace {

TensorType vector_type() {
  TensorType type;
  type.sizes = {4};
  type.strides = {1};
  return type;
}

struct Small {
  Graph graph{"small"};
  ValueId x = graph.add_input(Input::Kind::kUser, "x", vector_type());
  NodeId relu = graph.add_node(ops::target(Op::kRelu), {x}, {vector_type()}, {"model.py", 3, {}});
  ValueId y = graph.node(relu).results[0];
  Small() { graph.outputs().push_back({.value = y}); }
};

// The one violation, as "code | message | location".
std::string violation(const Graph& graph, const VerifyOptions& options = {}) {
  const auto errors = verify(graph, options);
  std::string out;
  for (const Error& error : errors)
    out += (out.empty() ? "" : "\n") + error.message + " @" + error.location;
  return out;
}

}  // namespace

TEST_CASE("a right graph has no violations") { CHECK(violation(Small().graph).empty()); }

TEST_CASE("1: use before definition") {
  Small small;
  const NodeId neg =
      small.graph.add_node(ops::target(Op::kNeg), {small.y}, {vector_type()}, {"model.py", 4, {}});
  std::swap(small.graph.order()[0], small.graph.order()[1]);
  CHECK(violation(small.graph) ==
        "invariant 1: %neg = aten.neg.default: %relu is used before its definition @model.py:4");
  small.graph.order() = {neg};
  CHECK(violation(small.graph) ==
        "invariant 1: %neg = aten.neg.default: %relu is used before its definition @model.py:4\n"
        "invariant 1: output 0: %relu is used before its definition @");
}

TEST_CASE("2: producers") {
  Small small;
  small.graph.value(small.y).result_index = 1;
  CHECK(violation(small.graph) ==
        "invariant 2: %relu = aten.relu.default: its result %relu names another producer "
        "@model.py:3");
  Small other;
  other.graph.value(other.x).producer = other.relu;
  CHECK(violation(other.graph) == "invariant 2: input x: %x is also the result of a node @");
}

TEST_CASE("3: names") {
  Small small;
  small.graph.value(small.y).name = "x";
  CHECK(violation(small.graph) ==
        "invariant 3: %x = aten.relu.default: the name %x is used twice @model.py:3");
  small.graph.value(small.y).name = "";
  CHECK(violation(small.graph) ==
        "invariant 3: % = aten.relu.default: a value has no name @model.py:3");
}

TEST_CASE("3: names of constants") {
  Graph graph;
  graph.add_constant("c", vector_type(), nullptr);
  graph.add_constant("c", vector_type(), nullptr);
  CHECK(graph.constants()[1].name == "c_1");
  CHECK(violation(graph).empty());
  graph.constants()[1].name = "c";
  CHECK(violation(graph) == "invariant 3: constant c: found a name that is empty or used twice @");
}

TEST_CASE("4: tensor types") {
  Small small;
  std::get<TensorType>(small.graph.value(small.y).type).strides.clear();
  CHECK(violation(small.graph) ==
        "invariant 4: %relu = aten.relu.default, %relu: found 0 strides, expected 1 @model.py:3");
  Small other;
  std::get<TensorType>(other.graph.value(other.y).type).sizes = {-2};
  CHECK(violation(other.graph) ==
        "invariant 4: %relu = aten.relu.default, %relu: the size -2 is negative @model.py:3");
}

TEST_CASE("5: symbols") {
  Small small;
  std::get<TensorType>(small.graph.value(small.y).type).sizes = {SymExpr::symbol("s0")};
  CHECK(violation(small.graph) ==
        "invariant 5: %relu = aten.relu.default, %relu: the symbol s0 is not declared @model.py:3");
  small.graph.symbols().push_back({Symbol("s0"), 2, 8, 3});
  CHECK(violation(small.graph).empty());
  small.graph.symbols().push_back({Symbol("s0"), 2, 8, 9});
  CHECK(violation(small.graph) ==
        "invariant 5: the symbol s0 is declared twice @\n"
        "invariant 5: the symbol s0 has the hint 9 outside its range @");
  Small other;
  other.graph.guards().push_back({SymGuard::Kind::kEq, SymExpr::symbol("s7"), 1, ""});
  CHECK(violation(other.graph) == "invariant 5: a guard: the symbol s7 is not declared @");
}

TEST_CASE("6: outputs and mutations name what exists") {
  using Kind = Output::Kind;
  const auto with_output = [](Output output) {
    Small small;
    small.graph.outputs().push_back(std::move(output));
    return violation(small.graph);
  };
  CHECK(with_output({.kind = Kind::kInput, .index = 1}) ==
        "invariant 6: output 1: found input 1 of 1 @");
  CHECK(with_output({.kind = Kind::kSameAs, .index = 1}) ==
        "invariant 6: output 1: found output 1, expected another output @");
  CHECK(with_output({.kind = Kind::kViewOfOutput, .index = 5, .view = vector_type()}) ==
        "invariant 6: output 1: found output 5, expected another output @");
  CHECK(with_output({}) == "invariant 6: output 1: has no value @");
  Small small;
  small.graph.mutations().push_back({Mutation::Kind::kData, 3, small.y, {}});
  CHECK(violation(small.graph) == "invariant 6: mutation of input 3: there is no such input @");
}

TEST_CASE("7: captured targets are public names") {
  const auto with_target = [](std::string_view name) {
    Graph graph("g", Level::kCaptured);
    graph.add_node(intern_target(name), {}, {});
    return violation(graph);
  };
  CHECK(with_target("torch.nn.functional.relu").empty());
  CHECK(with_target("f.<locals>.g") ==
        "invariant 7: call f.<locals>.g: found the target 'f.<locals>.g', expected a public dotted "
        "name @");
  CHECK(!with_target("bare").empty());
  CHECK(!with_target("a..b").empty());
}

TEST_CASE("8: arguments fit the schema") {
  Small small;
  small.graph.node(small.relu).args.clear();
  CHECK(violation(small.graph) ==
        "invariant 8: %relu = aten.relu.default: found 0 arguments, expected 1 for "
        "aten::relu(Tensor self) -> Tensor @model.py:3");
  small.graph.node(small.relu).args = {std::string("text")};
  CHECK(violation(small.graph) ==
        "invariant 8: %relu = aten.relu.default: the argument 'self' does not fit "
        "aten::relu(Tensor self) -> Tensor @model.py:3");
  Small keyword;
  keyword.graph.node(keyword.relu).kwargs = {{"x", Argument(1)}};
  CHECK(violation(keyword.graph) ==
        "invariant 8: %relu = aten.relu.default: has keyword arguments @model.py:3");
  Small unknown;
  unknown.graph.node(unknown.relu).target = intern_target("verifier_test.no_schema");
  CHECK(violation(unknown.graph) ==
        "invariant 8: %relu = verifier_test.no_schema: the target has no schema @model.py:3");
}

TEST_CASE("9: results") {
  Small small;
  const ValueId extra = small.graph.add_value(vector_type(), "extra");
  small.graph.value(extra).producer = small.relu;
  small.graph.value(extra).result_index = 1;
  small.graph.node(small.relu).results.push_back(extra);
  CHECK(violation(small.graph) ==
        "invariant 9: %relu = aten.relu.default: found 2 results, expected 1 @model.py:3");
}

TEST_CASE("10: mutation, 11: the declared op set") {
  Small small;
  const Target* copy = ops::register_op("verifier_test::fill_(Tensor(a!) x) -> Tensor(a!)").value();
  small.graph.node(small.relu).target = copy;
  CHECK(violation(small.graph)
            .find("invariant 10: %relu = verifier_test.fill_.default: mutates an argument") == 0);
  Small other;
  const VerifyOptions none{.allowed = [](const Target&) { return false; }};
  CHECK(
      violation(other.graph, none) ==
      "invariant 11: %relu = aten.relu.default: the op is not in the declared op set @model.py:3");
}

TEST_CASE("12: fresh outputs, 13: mutations") {
  Small small;
  small.graph.outputs().push_back({.value = small.x});
  CHECK(violation(small.graph) == "invariant 12: output 1: the fresh output %x is an input @");
  Small twice;
  twice.graph.mutations().push_back({Mutation::Kind::kData, 0, twice.y, {}});
  CHECK(violation(twice.graph).empty());
  twice.graph.mutations().push_back({Mutation::Kind::kData, 0, ValueId{}, {}});
  CHECK(violation(twice.graph) ==
        "invariant 13: mutation of input 0: the new data has no value @\n"
        "invariant 13: input 0 is mutated twice in the same way @");
}

TEST_CASE("all violations are collected") {
  Small small;
  small.graph.node(small.relu).args = {std::string("text")};
  small.graph.value(small.y).result_index = 1;
  small.graph.outputs().push_back({});
  CHECK(verify(small.graph).size() == 3);
}
