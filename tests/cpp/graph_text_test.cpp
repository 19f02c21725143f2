#include "ir/graph_text.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include <doctest/doctest.h>

#include "golden.h"
#include "ir/graph_file.h"
#include "ir/type_text.h"
#include "ir/verifier.h"
#include "ops/op_table.h"

using namespace triptych;
using namespace triptych::ir;
using ops::Op;

namespace {

Graph parsed(std::string_view text, const ConstantBytes& constants = {}) {
  auto graph = ops::parse_graph(text, constants);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().message));
  return std::move(graph).value();
}

std::string parse_error(std::string_view text) {
  const auto graph = ops::parse_graph(text);
  REQUIRE(!graph.ok());
  return graph.error().message;
}

TensorType tensor(DType dtype, std::vector<SymExpr> sizes) {
  TensorType type;
  type.dtype = dtype;
  type.strides = contiguous_strides(sizes);
  type.sizes = std::move(sizes);
  return type;
}

void check_round_trip(const Graph& graph, const ConstantBytes& constants = {}) {
  const std::string text = print(graph);
  const Graph back = parsed(text, constants);
  CHECK(equal(graph, back));
  CHECK(print(back) == text);
}

ConstantBytes some_bytes(const std::string& name, std::initializer_list<int> values) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const int value : values) bytes->push_back(static_cast<std::byte>(value));
  return {{name, bytes}};
}

// s0 rows of 64, scaled and shifted; writes back to a buffer; returns a view too.
Graph example() {
  Graph graph("example");
  const SymExpr s0 = SymExpr::symbol("s0");
  graph.symbols().push_back({Symbol("s0"), 2, 512, 7});
  graph.guards().push_back({SymGuard::Kind::kLe, s0, 128, "the mask is 128 long"});
  const ValueId x = graph.add_input(Input::Kind::kUser, "x", tensor(DType::kF32, {2, s0, 64}));
  const ValueId weight =
      graph.add_input(Input::Kind::kParameter, "layer.0.weight", tensor(DType::kF32, {64}));
  const ValueId steps = graph.add_input(Input::Kind::kBuffer, "steps", tensor(DType::kI64, {}));
  const SourceLocation here{"model.py", 12, "layer.0"};
  const auto add = graph.add_node(ops::target(Op::kAdd_Tensor), {x, weight, 2},
                                  {tensor(DType::kF32, {2, s0, 64})}, here);
  graph.node(add).origin = "captured_add";
  TensorType turned = tensor(DType::kF32, {64, s0, 2});
  turned.strides = {1, 64, s0 * 64};
  ArgumentList dims{{2, 1, 0}};
  const auto permute =
      graph.add_node(ops::target(Op::kPermute), {graph.node(add).results[0], dims}, {turned}, here);
  const auto more =
      graph.add_node(ops::target(Op::kAdd_Tensor), {steps, 1, 1}, {tensor(DType::kI64, {})});
  const auto max =
      graph.add_node(ops::target(Op::kMax_dim), {graph.node(permute).results[0], -1, false},
                     {tensor(DType::kF32, {64, s0}), tensor(DType::kI64, {64, s0})});
  graph.mutations().push_back({Mutation::Kind::kData, 2, graph.node(more).results[0], {}});
  graph.outputs().push_back({.value = graph.node(max).results[1]});
  graph.outputs().push_back({.kind = Output::Kind::kViewOfOutput,
                             .value = graph.node(permute).results[0],
                             .index = 4,
                             .view = turned});
  graph.outputs().push_back({.kind = Output::Kind::kInput, .value = steps, .index = 2});
  graph.outputs().push_back({.kind = Output::Kind::kLiteral, .literal = s0 * 2});
  graph.outputs().push_back({.value = graph.node(add).results[0], .hidden = true});
  return graph;
}

}  // namespace

TEST_CASE("the text of a graph") {
  const Graph graph = example();
  CHECK(verify(graph).empty());
  check_round_trip(graph);
  testing::check_golden("graph_text/example.txt", print(graph));
}

TEST_CASE("locations can be left out") {
  CHECK(print(example(), {.locations = false}).find('#') == std::string::npos);
}

TEST_CASE("locations with any characters round-trip") {
  Graph graph("locations", Level::kCaptured);
  for (const std::string name :
       {"in", "from", "C:\\dir\\a b.py", "a#b.py", "<string>", "x:7", ""}) {
    const NodeId id = graph.add_node(intern_target("torch.f"), {}, {}, {name, 3, name});
    graph.node(id).origin = name;
  }
  const Graph back = parsed(print(graph));
  for (const NodeId id : graph.order()) {
    CHECK(back.node(id).location.file == graph.node(id).location.file);
    CHECK(back.node(id).location.line == (graph.node(id).location.file.empty() ? 0 : 3));
    CHECK(back.node(id).location.module_path == graph.node(id).location.module_path);
    CHECK(back.node(id).origin == graph.node(id).origin);
  }
  check_round_trip(graph);
}

TEST_CASE("every kind of argument round-trips") {
  Graph graph("arguments", Level::kCaptured);
  const ValueId x = graph.add_input(Input::Kind::kUser, "x", tensor(DType::kF32, {2}));
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  ArgumentList list{{1, 2.5, x, None{}}};
  ArgumentList tuple{{SymExpr::symbol("s0") * 2 + 1}, true};
  ArgumentDict dict;
  dict.items.emplace_back("key \"quoted\"", list);
  dict.items.emplace_back("other", tuple);
  const std::vector<Argument> args{None{},
                                   x,
                                   true,
                                   false,
                                   3,
                                   -4,
                                   INT64_MIN,
                                   0.0,
                                   -0.0,
                                   nan,
                                   -nan,
                                   inf,
                                   -inf,
                                   1e-300,
                                   0.1,
                                   std::complex<double>(1.5, -0.0),
                                   std::complex<double>(nan, inf),
                                   std::string("text\n\"x\""),
                                   std::string(),
                                   DType::kBF16,
                                   Device{},
                                   Device{InternedString("cuda"), 1},
                                   Layout::kSparseCsr,
                                   MemoryFormat::kChannelsLast3d,
                                   SymExpr::symbol("s0"),
                                   SymExpr(7),
                                   floordiv(SymExpr::symbol("s0"), 2) - 3,
                                   list,
                                   tuple,
                                   ArgumentList{},
                                   ArgumentList{{}, true},
                                   ArgumentList{{list, tuple}},
                                   dict,
                                   ArgumentDict{},
                                   Slice{{None{}, SymExpr::symbol("s0"), -1}},
                                   Ellipsis{},
                                   Generator{"default"}};
  const NodeId id =
      graph.add_node(intern_target("torch.everything"), args, {tensor(DType::kF32, {2})});
  graph.node(id).kwargs = {{"dim", Argument(-1)}, {"out", Argument(x)}, {"rest", Argument(dict)}};
  graph.add_node(intern_target("torch._C._set_grad_enabled"), {false}, {});
  check_round_trip(graph);
  testing::check_golden("graph_text/arguments.txt", print(graph));
}

TEST_CASE("every kind of type round-trips") {
  Graph graph("types", Level::kCaptured);
  TensorType strided = tensor(DType::kF16, {3, 4});
  strided.strides = {1, 3};
  strided.storage_offset = SymExpr::symbol("s0") + 1;
  strided.device = Device{InternedString("cuda"), 0};
  strided.requires_grad = true;
  std::vector<ValueType> types{strided,
                               tensor(DType::kC64, {}),
                               tensor(DType::kBool, {0, 3}),
                               tensor(DType::kF8E4M3FN, {SymExpr::symbol("s0"), 1}),
                               ScalarValueType{},
                               ScalarValueType{ScalarValueType::Kind::kInt, SymExpr::symbol("s0")},
                               ScalarValueType{ScalarValueType::Kind::kFloat, std::nullopt},
                               ScalarValueType{ScalarValueType::Kind::kBool, std::nullopt},
                               NoneType{},
                               ObjectType{"torch.Size \"x\""}};
  graph.add_node(intern_target("torch.types"), {}, types);
  check_round_trip(graph);
  testing::check_golden("graph_text/types.txt", print(graph));
}

TEST_CASE("defaults are left out in print and filled in by parse") {
  const Graph graph = parsed(R"(graph g normalized {
  %x: f32[2] = input.user("x")
  %a: f32[2] = aten.add.Tensor(%x, %x)
  %b: f32[2] = aten.add.Tensor(%x, %x, alpha=3)
  %c: f32[2], %i: i64[2] = aten.sort.default(%x, descending=True)
})");
  CHECK(graph.node(graph.order()[0]).args.size() == 3);
  CHECK(graph.node(graph.order()[0]).args[2] == Argument(1));
  CHECK(graph.node(graph.order()[1]).args[2] == Argument(3));
  CHECK(graph.node(graph.order()[2]).args[1] == Argument(-1));
  CHECK(print(graph).find("aten.add.Tensor(%x, %x)\n") != std::string::npos);
  CHECK(print(graph).find("aten.add.Tensor(%x, %x, alpha=3)\n") != std::string::npos);
  check_round_trip(graph);
}

TEST_CASE("ops outside the table carry their schemas") {
  const std::string text = R"(graph g normalized {
  op toy_text::scale(Tensor x, float by=2.0) -> Tensor
  %x: f32[2] = input.user("x")
  %scale: f32[2] = toy_text.scale.default(%x)
  output %scale
}
)";
  const Graph graph = parsed(text);
  CHECK(graph.node(graph.order()[0]).args[1] == Argument(2.0));
  CHECK(print(graph) == text);
  CHECK(parse_error("graph g normalized {\n  op toy_text::scale(Tensor x) -> Tensor\n}")
            .find("line 2, column 6: toy_text.scale.default is known with another schema") == 0);
}

TEST_CASE("constants: by name in the text, bytes beside it") {
  const ConstantBytes bytes = some_bytes("w", {1, 2, 0, 255, 10, 34, 0, 128});
  Graph graph("constants");
  const ValueId w = graph.add_constant("w", tensor(DType::kF32, {2}), bytes.at("w"));
  graph.add_node(ops::target(Op::kRelu), {w}, {tensor(DType::kF32, {2})});
  check_round_trip(graph, bytes);
  CHECK(!equal(graph, parsed(print(graph))));  // without the bytes
  CHECK(!equal(graph, parsed(print(graph), some_bytes("w", {1, 2, 0, 255, 10, 34, 0, 127}))));

  const std::string path =
      (std::filesystem::temp_directory_path() / "triptych_graph_text_test.txt").string();
  REQUIRE(save_graph(graph, path).ok());
  const auto loaded = load_graph(path);
  REQUIRE(loaded.ok());
  CHECK(equal(graph, loaded.value()));
  std::filesystem::remove(path + ".bin");
  CHECK(!load_graph(path).ok());
  std::filesystem::remove(path);
  CHECK(load_graph(path).error().message == path + ": cannot be read");
}

TEST_CASE("equality looks through names and at everything else") {
  const std::string text =
      "graph g normalized {\n  %x: f32[2] = input.user(\"x\")\n"
      "  %a: f32[2] = aten.relu.default(%x)\n  output %a\n}";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    for (std::size_t at = changed.find(from); at != std::string::npos;
         at = changed.find(from, at + to.size())) {
      changed.replace(at, from.size(), to);
    }
    return parsed(changed);
  };
  const Graph graph = parsed(text);
  CHECK(equal(graph, with("%a", "%b")));
  CHECK(!equal(graph, with("f32", "f64")));
  CHECK(!equal(graph, with("relu", "neg")));
  CHECK(!equal(graph, with("output %a", "output %x is input 0")));
  CHECK(!equal(graph, with("input.user", "input.buffer")));
  CHECK(!equal(graph, with("(%x)", "(3)")));
}

TEST_CASE("names are made unique") {
  Graph graph;
  CHECK(graph.value(graph.add_value(NoneType{}, "a")).name == "a");
  CHECK(graph.value(graph.add_value(NoneType{}, "a_1")).name == "a_1");
  CHECK(graph.value(graph.add_value(NoneType{}, "a")).name == "a_2");
  CHECK(graph.value(graph.add_value(NoneType{}, "b.c")).name == "b_c");
  CHECK(graph.value(graph.add_value(NoneType{}, "")).name == "0");
  CHECK(graph.value(graph.add_value(NoneType{}, "")).name == "1");
}

TEST_CASE("mistakes are named with line and column") {
  const auto in_graph = [](const std::string& line) {
    return parse_error("graph g normalized {\n  " + line + "\n}");
  };
  CHECK(parse_error("grph g") == "line 1, column 1: found 'grph', expected 'graph'");
  CHECK(parse_error("graph g lowered {") ==
        "line 1, column 9: found 'lowered', expected 'captured' or 'normalized'");
  CHECK(parse_error("graph g normalized {\n").find("line 2, column 1: found the end of the text") ==
        0);
  CHECK(in_graph("%a: f32[2] = aten.relu.default(%x)") ==
        "line 2, column 35: %x is used before its definition");
  CHECK(in_graph("%a: f33[2] = aten.relu.default(1)") ==
        "line 2, column 7: found 'f33', expected a type such as f32[2, 3]");
  CHECK(in_graph("%a: f32[2] = aten.relu.default()") ==
        "line 2, column 33: the argument 'self' of aten.relu.default is missing");
  CHECK(in_graph("%a: f32[2] = aten.relu.default(1, 2)")
            .find("line 2, column 37: this argument does not fit") == 0);
  CHECK(in_graph("%a: f32[2] = aten.relu.default(1, self=2)").find("line 2, column 37") == 0);
  CHECK(in_graph("%a: f32[2] = nothing.known(1)")
            .find("line 2, column 16: the op nothing.known is not in the op table") == 0);
  CHECK(in_graph("%a: f32[2] = input.user(\"a\")\n  %a: f32[2] = input.user(\"b\")") ==
        "line 3, column 4: %a is already defined");
  CHECK(in_graph("guard s0 ? 3") ==
        "line 2, column 12: found '?', expected '==', '!=', '<' or '<='");
  CHECK(in_graph("%a: f32[2] = aten.relu.default(torch.float33)") ==
        "line 2, column 40: no dtype, layout or memory format of torch has this name");
  CHECK(in_graph("surprise").find("line 2, column 3: found 'surprise', expected a definition") ==
        0);
}

TEST_CASE("no text breaks the parser") {
  const std::string text = print(example());
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    CHECK(!ops::parse_graph(text.substr(0, i)).ok());
    std::string changed = text;
    changed[i] = changed[i] == '(' ? ')' : '(';
    const auto graph = ops::parse_graph(changed);  // may be right by chance; must not throw
    if (graph.ok()) CHECK(print(graph.value()).size() > 0);
  }
  CHECK(!ops::parse_graph("graph g captured {\n call a.b(" + std::string(100000, '[')).ok());
  CHECK(!ops::parse_graph("graph g captured {\n call a.b(" + std::string(100000, '-') + "1)").ok());
  CHECK(!parse_sym_expr(std::string(100000, '(')).ok());
}
