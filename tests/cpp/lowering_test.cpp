// Lowering of whole graphs: golden kernels, and results of the interpreter against results computed
// by hand.
#include "codegen/loops/lower.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <doctest/doctest.h>

#include "codegen/loops/interpreter.h"
#include "codegen/loops/loop_tree.h"
#include "codegen/loops/lowerings/lowering.h"
#include "golden.h"
#include "ops/op_table.h"
#include "round_trip.h"

namespace triptych::loops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

LoopProgram lowered(std::string_view text, const LowerOptions& options = {}) {
  Result<ir::Graph> graph = ops::parse_graph(text);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().describe()));
  Result<LoopProgram> program = lower(std::move(graph).value(), options);
  REQUIRE(program.ok());
  for (const Error& error : verify(program.value()))
    FAIL_CHECK(error.message << "\n" << print(program.value()));
  CHECK(testing::round_trip_complaint(program.value()) == "");
  return std::move(program).value();
}

// Runs a program without external calls on the interpreter. Every value has memory of its own, but
// views, which kernels read through their root.
class Run {
 public:
  explicit Run(std::string_view text, const LowerOptions& options = {})
      : program_(lowered(text, options)) {}

  template <class T>
  void set(std::string_view name, const std::vector<T>& data) {
    std::vector<std::byte>& memory = memory_[std::string(name)];
    memory.resize(data.size() * sizeof(T));
    std::memcpy(memory.data(), data.data(), memory.size());
  }
  template <class T>
  std::vector<T> get(std::string_view name) {
    const std::vector<std::byte>& memory = memory_.at(std::string(name));
    std::vector<T> data(memory.size() / sizeof(T));
    std::memcpy(data.data(), memory.data(), memory.size());
    return data;
  }
  // The error word: 0 when all checks held.
  std::int32_t run() {
    std::int32_t error = 0;
    for (const Item& item : program_.items) {
      const auto* kernel = std::get_if<KernelItem>(&item);
      if (kernel == nullptr) {
        CHECK(std::holds_alternative<ViewItem>(item));
        continue;
      }
      std::vector<void*> buffers;
      for (std::size_t i = 0; i < kernel->buffers.size(); ++i) {
        const Buffer& buffer = kernel->kernel.buffers.items()[i];
        std::vector<std::byte>& memory = memory_[buffer.name];
        const auto bytes =
            static_cast<std::size_t>(buffer.extent.constant() * ir::dtype_bytes(buffer.dtype));
        if (buffer.kind == Buffer::Kind::kOutput) memory.resize(bytes);
        REQUIRE(memory.size() >= bytes);
        buffers.push_back(memory.data());
      }
      const Status status = interpret(kernel->kernel, buffers, {}, error);
      REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message));
    }
    return error;
  }

 private:
  LoopProgram program_;
  std::map<std::string, std::vector<std::byte>> memory_;
};

void check_close(const std::vector<float>& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(actual[i]));
    } else if (std::isinf(expected[i])) {
      CHECK(actual[i] == expected[i]);
    } else {
      CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(1e-6));
    }
  }
}

// One op from x: f32[n] to y.
std::vector<float> apply(std::string_view call, const std::vector<float>& x) {
  const std::string type = "f32[" + std::to_string(x.size()) + "]";
  Run run("graph g normalized {\n  %x: " + type + " = input.user(\"x\")\n  %y: " + type + " = " +
          std::string(call) + "\n  output %y\n}\n");
  run.set("x", x);
  CHECK(run.run() == 0);
  return run.get<float>("y");
}

TEST_CASE("golden kernels") {
  for (const char* name : {"pointwise", "reductions", "views", "rows", "indexing", "joining",
                           "symbolic", "external"}) {
    CAPTURE(name);
    const std::string path = std::string("lowering/") + name;
    testing::check_golden(path + ".kernels",
                          print_items(lowered(testing::read_golden(path + ".graph"))));
  }
}

TEST_CASE("special values of pointwise ops") {
  check_close(apply("aten.relu.default(%x)", {-1, 2, kNan, kInf}), {0, 2, kNan, kInf});
  check_close(apply("aten.clamp.default(%x, -1, 1)", {-5, 0.5, kNan, kInf}), {-1, 0.5, kNan, 1});
  check_close(apply("aten.clamp.default(%x, None, 1)", {-5, 5}), {-5, 1});
  check_close(apply("aten.sign.default(%x)", {-3, 0, 2}), {-1, 0, 1});
  check_close(apply("aten.pow.Tensor_Scalar(%x, 0)", {kNan, 2}), {1, 1});
  check_close(apply("aten.pow.Tensor_Scalar(%x, 3)", {-2, 0.5}), {-8, 0.125});
  check_close(apply("aten.nan_to_num.default(%x)", {kNan, kInf, -kInf, 1}),
              {0, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(), 1});
  check_close(apply("aten.gelu.default(%x)", {-1, 0, 1}), {-0.15865526F, 0, 0.8413447F});
  check_close(apply("aten.div.Tensor_mode(%x, 2, rounding_mode=\"floor\")", {-3, 3}), {-2, 1});
  check_close(apply("aten.div.Tensor_mode(%x, 2, rounding_mode=\"trunc\")", {-3, 3}), {-1, 1});
  check_close(apply("aten.hardshrink.default(%x)", {-0.4F, 0.6F, kNan}), {0, 0.6F, kNan});
}

TEST_CASE("integers: division by zero is reported, shifts and negation wrap") {
  Run run(
      "graph g normalized {\n  %x: i32[3] = input.user(\"x\")\n  %d: i32[3] = input.user(\"d\")\n"
      "  %y: i32[3] = aten.floor_divide.default(%x, %d)\n  %s: i32[3] = "
      "aten.bitwise_left_shift.Tensor(%x, %d)\n"
      "  %n: i32[3] = aten.neg.default(%x)\n  output %y\n  output %s\n  output %n\n}\n");
  run.set<std::int32_t>("x", {7, -7, INT32_MIN});
  run.set<std::int32_t>("d", {2, 2, -1});
  CHECK(run.run() == 0);
  CHECK(run.get<std::int32_t>("y") == std::vector<std::int32_t>{3, -4, INT32_MIN});
  CHECK(run.get<std::int32_t>("s") == std::vector<std::int32_t>{28, -28, 0});
  CHECK(run.get<std::int32_t>("n") == std::vector<std::int32_t>{-7, 7, INT32_MIN});
  run.set<std::int32_t>("d", {2, 0, 1});
  CHECK(run.run() == static_cast<std::int32_t>(Check::Code::kDivisionByZero));
}

TEST_CASE("promotion: an i64 tensor compared with a float number is compared in f32") {
  Run run(
      "graph g normalized {\n  %x: i64[3] = input.user(\"x\")\n  %y: bool[3] = aten.lt.Scalar(%x, "
      "2.5)\n"
      "  %z: bool[3] = aten.eq.Scalar(%x, 3)\n  output %y\n  output %z\n}\n");
  run.set<std::int64_t>("x", {2, 3, -1});
  CHECK(run.run() == 0);
  CHECK(run.get<std::uint8_t>("y") == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(run.get<std::uint8_t>("z") == std::vector<std::uint8_t>{0, 1, 0});
}

TEST_CASE("bools: + is or, * is and") {
  Run run(
      "graph g normalized {\n  %x: bool[4] = input.user(\"x\")\n  %y: bool[4] = input.user(\"y\")\n"
      "  %a: bool[4] = aten.add.Tensor(%x, %y)\n  %m: bool[4] = aten.mul.Tensor(%x, %y)\n"
      "  %l: bool[4] = aten.lt.Tensor(%x, %y)\n  output %a\n  output %m\n  output %l\n}\n");
  run.set<std::uint8_t>("x", {0, 0, 1, 1});
  run.set<std::uint8_t>("y", {0, 1, 0, 1});
  CHECK(run.run() == 0);
  CHECK(run.get<std::uint8_t>("a") == std::vector<std::uint8_t>{0, 1, 1, 1});
  CHECK(run.get<std::uint8_t>("m") == std::vector<std::uint8_t>{0, 0, 0, 1});
  CHECK(run.get<std::uint8_t>("l") == std::vector<std::uint8_t>{0, 1, 0, 0});
}

TEST_CASE("reductions over several dims, through a permuted view") {
  Run run(
      "graph g normalized {\n  %x: f32[2, 3] = input.user(\"x\")\n"
      "  %p: f32[3, 2] strides=[1, 3] = aten.permute.default(%x, [1, 0])\n"
      "  %s: f32[3] = aten.sum.dim_IntList(%p, [1])\n  %m: f32[] = aten.mean.default(%p)\n"
      "  %a: i64[] = aten.argmax.default(%p)\n  %v: f32[3] = aten.var.correction(%p, [1])\n"
      "  output %s\n  output %m\n  output %a\n  output %v\n}\n");
  run.set<float>("x", {1, 2, 3, 4, 5, 6});
  CHECK(run.run() == 0);
  check_close(run.get<float>("s"), {5, 7, 9});
  check_close(run.get<float>("m"), {3.5});
  CHECK(run.get<std::int64_t>("a") == std::vector<std::int64_t>{5});
  check_close(run.get<float>("v"), {4.5, 4.5, 4.5});
}

TEST_CASE("softmax and layer norm rows") {
  Run run(
      "graph g normalized {\n  %x: f32[2, 2] = input.user(\"x\")\n  %w: f32[2] = "
      "input.parameter(\"w\")\n"
      "  %b: f32[2] = input.parameter(\"b\")\n  %s: f32[2, 2] = aten._softmax.default(%x, -1, "
      "False)\n"
      "  %l: f32[2, 2], %m: f32[2, 1], %r: f32[2, 1] = aten.native_layer_norm.default(%x, [2], %w, "
      "%b, 0.0)\n"
      "  output %s\n  output %l\n  output %m\n  output %r\n}\n");
  run.set<float>("x", {0, std::log(3.0F), 2, 6});
  run.set<float>("w", {1, 10});
  run.set<float>("b", {0, 1});
  CHECK(run.run() == 0);
  const std::vector<float> softmax = run.get<float>("s");
  CHECK(softmax[0] == doctest::Approx(0.25));
  CHECK(softmax[1] == doctest::Approx(0.75));
  check_close(run.get<float>("l"), {-1, 11, -1, 11});
  check_close(run.get<float>("m"), {std::log(3.0F) / 2, 4});
  CHECK(run.get<float>("r")[1] == doctest::Approx(0.5));
}

TEST_CASE("safe softmax: a row of -inf alone gives 0") {
  Run run(
      "graph g normalized {\n  %x: f32[2, 2] = input.user(\"x\")\n"
      "  %s: f32[2, 2] = aten._safe_softmax.default(%x, -1)\n  output %s\n}\n");
  run.set<float>("x", {-kInf, -kInf, -kInf, 1});
  CHECK(run.run() == 0);
  check_close(run.get<float>("s"), {0, 0, 0, 1});
}

TEST_CASE("indexing wraps negative indices where eager does and checks all") {
  const char* text =
      "graph g normalized {\n  %x: f32[3, 2] = input.user(\"x\")\n  %i: i64[2] = "
      "input.user(\"i\")\n"
      "  %y: f32[2, 2] = aten.index.Tensor(%x, [%i])\n  output %y\n}\n";
  Run run(text);
  run.set<float>("x", {1, 2, 3, 4, 5, 6});
  run.set<std::int64_t>("i", {-1, 0});
  CHECK(run.run() == 0);
  check_close(run.get<float>("y"), {5, 6, 1, 2});
  run.set<std::int64_t>("i", {3, 0});
  CHECK(run.run() == static_cast<std::int32_t>(Check::Code::kIndexOutOfRange));
  run.set<std::int64_t>("i", {-4, 0});
  CHECK(run.run() == static_cast<std::int32_t>(Check::Code::kIndexOutOfRange));
}

TEST_CASE("joining and padding") {
  Run run(
      "graph g normalized {\n  %x: f32[2, 2] = input.user(\"x\")\n  %v: f32[2] = "
      "input.user(\"v\")\n"
      "  %c: f32[2, 4] = aten.cat.default([%x, %x], 1)\n"
      "  %p: f32[3, 3] = aten.constant_pad_nd.default(%x, [1, 0, 0, 1], 9)\n"
      "  %r: f32[2, 4] = aten.flip.default(%c, [1])\n"
      "  %s: f32[2, 2] = aten.select_scatter.default(%x, %v, 0, 1)\n"
      "  %m: f32[2, 6] = aten.reflection_pad1d.default(%c, [1, 1])\n"
      "  output %c\n  output %p\n  output %r\n  output %s\n  output %m\n}\n");
  run.set<float>("x", {1, 2, 3, 4});
  run.set<float>("v", {7, 8});
  CHECK(run.run() == 0);
  check_close(run.get<float>("c"), {1, 2, 1, 2, 3, 4, 3, 4});
  check_close(run.get<float>("p"), {9, 1, 2, 9, 3, 4, 9, 9, 9});
  check_close(run.get<float>("r"), {2, 1, 2, 1, 4, 3, 4, 3});
  check_close(run.get<float>("s"), {1, 2, 7, 8});
  check_close(run.get<float>("m"), {2, 1, 2, 1, 2, 1, 4, 3, 4, 3, 4, 3});
}

TEST_CASE("what follows from a checked load stays behind the check") {
  Result<Kernel> kernel = parse_kernel(
      "kernel k(in %i: i64[1], in %x: f32[4], out %y: f32[3]) {\n  for i0 in 3 {\n    v0 = load "
      "%i[0]\n"
      "    v1 = const 4 : i64\n    v2 = lt v0, v1\n    check v2, index_out_of_range\n    v3 = load "
      "%x[v0]\n"
      "    v4 = neg v3\n    store %y[i0], v4\n  }\n}\n");
  REQUIRE(kernel.ok());
  hoist_invariants(kernel.value());
  CHECK(verify_kernel(kernel.value()).empty());
}

TEST_CASE("checks of constants are decided while lowering") {
  const LoopProgram program = lowered(
      "graph g normalized {\n  %x: i64[3] = input.user(\"x\")\n  %y: i64[3] = "
      "aten.remainder.Scalar(%x, 3)\n"
      "  output %y\n}\n");
  CHECK(print(program).find("check") == std::string::npos);
}

TEST_CASE("an op from outside the table, lowered by an expression registered at run time") {
  LoweringRegistry registry;
  REQUIRE(registry.add_expression("toy.square_plus.default", "x * x + amount").ok());
  CHECK_FALSE(registry.add_expression("toy.broken.default", "x *").ok());
  LowerOptions options;
  options.registry = &registry;
  const char* text =
      "graph g normalized {\n  op toy::square_plus(Tensor x, float amount) -> Tensor\n"
      "  %x: f32[2] = input.user(\"x\")\n  %y: f32[2] = toy.square_plus.default(%x, 0.5)\n  output "
      "%y\n}\n";
  Run run(text, options);
  run.set<float>("x", {2, -3});
  CHECK(run.run() == 0);
  check_close(run.get<float>("y"), {4.5, 9.5});
  const LoopProgram without = lowered(text);
  CHECK(std::get<ExternalItem>(without.items.at(0)).reason == "no lowering: not in the op table");
}

TEST_CASE("every core op has a lowering, or a reason for having none") {
  for (const ops::OpInfo& op : ops::all()) {
    CAPTURE(op.name);
    if (!op.lowering.empty()) {
      CHECK_MESSAGE((find_lowering(op.lowering) != nullptr), std::string(op.lowering));
    } else {
      CHECK((!op.expression.empty() || !op.no_lowering.empty()));
    }
  }
}

}  // namespace
}  // namespace triptych::loops
