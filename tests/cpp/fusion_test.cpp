// Fusion and mapping against the reference interpreter.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "codegen/loops/fuse.h"
#include "codegen/loops/lower.h"
#include "codegen/mapping/map.h"
#include "golden.h"
#include "random_graph.h"
#include "small_graph.h"

using namespace triptych;           // NOLINT: test file
using namespace triptych::testing;  // NOLINT

namespace {

mapping::Traits traits() {
  mapping::Traits result;
  result.vector_bytes = 64;
  return result;
}

struct Compiled {
  loops::LoopProgram lowered, fused, mapped;
  std::vector<loops::FusionDecision> log;
};

Compiled compile(const SmallGraph& g, bool eager_rounding = false) {
  Compiled result;
  result.lowered = loops::lower(g.graph).value();
  loops::FuseOptions options;
  options.log = &result.log;
  options.eager_rounding = eager_rounding;
  result.fused = loops::fuse(loops::lower(g.graph).value(), traits(), options).value();
  result.mapped = mapping::map_to_machine(result.fused, traits()).value();
  return result;
}

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

// Fused and mapped programs compute what the lowered one does. Empty, or what differs.
std::string differences(const SmallGraph& g, const Compiled& compiled, double tolerance) {
  Memory expected = fill_inputs(g.graph, 7);
  run_program(compiled.lowered, expected);
  for (const auto* program : {&compiled.fused, &compiled.mapped}) {
    if (std::string complaint = verify_all(*program); !complaint.empty()) return complaint;
    Memory actual = fill_inputs(g.graph, 7);
    run_program(*program, actual);
    for (const ir::Output& output : g.graph.outputs()) {
      const auto want = read_value(compiled.lowered, expected, output.value);
      const auto got = read_value(*program, actual, output.value);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (close(got[i], want[i], tolerance)) continue;
        return "output " + g.graph.value(output.value).name + "[" + std::to_string(i) + "] is " +
               std::to_string(got[i]) + ", expected " + std::to_string(want[i]) + "\n" +
               print_kernels(*program);
      }
    }
  }
  return {};
}

std::string explain(const Compiled& compiled) {
  std::string text = print_kernels(compiled.fused);
  for (const auto& decision : compiled.log) {
    text += "# " + decision.producer + " + " + decision.consumer +
            (decision.fused ? ": fused, " : ": apart, ") + decision.reason + "\n";
  }
  return text;
}

void check(const SmallGraph& g, std::size_t kernels, double tolerance = 1e-5) {
  const Compiled compiled = compile(g);
  INFO(explain(compiled));
  CHECK(differences(g, compiled, tolerance) == "");
  CHECK(count_kernels(compiled.fused) == kernels);
}

}  // namespace

TEST_CASE("a chain of pointwise ops is one kernel") {
  SmallGraph g;
  auto x = g.input({8, 16});
  auto y = x;
  for (int i = 0; i < 20; ++i)
    y = g.unary(i % 2 == 0 ? "aten.tanh.default" : "aten.neg.default",
                g.binary("aten.add.Tensor", y, x));
  g.output(y);
  check(g, 1);
}

TEST_CASE("a value needed outside is stored too") {
  SmallGraph g;
  auto x = g.input({8, 16});
  auto y = g.unary("aten.exp.default", x);
  g.output(y);
  g.output(g.unary("aten.neg.default", y));
  check(g, 1);
}

TEST_CASE("bias broadcast over rows") {
  SmallGraph g;
  auto x = g.input({8, 16});
  auto bias = g.input({16});
  auto y = g.binary("aten.add.Tensor", x, bias);
  g.output(g.unary("aten.gelu.default", y));
  check(g, 1);
}

TEST_CASE("softmax written out is one kernel") {
  SmallGraph g;
  auto x = g.input({6, 40});
  auto top = g.reduce("aten.amax.default", x, {1}, true);
  auto e = g.unary("aten.exp.default", g.binary("aten.sub.Tensor", x, top));
  auto sum = g.reduce("aten.sum.dim_IntList", e, {1}, true);
  g.output(g.binary("aten.div.Tensor", e, sum));
  check(g, 1);
}

TEST_CASE("softmax with a prologue and an epilogue") {
  SmallGraph g;
  auto x = g.input({3, 6, 40});
  auto mask = g.input({6, 40});
  auto y = g.softmax(g.binary("aten.add.Tensor", g.scaled(x, 0.25), mask), 2);
  g.output(g.cast(y, DType::kBF16));
  check(g, 1, 1e-2);
}

TEST_CASE("residual add, layer norm and cast are one kernel") {
  SmallGraph g;
  auto a = g.input({4, 8, 32});
  auto b = g.input({4, 8, 32});
  auto w = g.input({32});
  auto bias = g.input({32});
  auto x = g.binary("aten.add.Tensor", a, b);
  g.output(x);
  g.output(g.cast(g.layer_norm(x, w, bias), DType::kBF16));
  check(g, 1, 1e-2);
}

TEST_CASE("an expensive row is held, not recomputed") {
  SmallGraph g;
  auto x = g.input({8, 32});
  auto w = g.input({32});
  auto bias = g.input({32});
  g.output(g.layer_norm(g.unary("aten.gelu.default", x), w, bias));
  const Compiled compiled = compile(g);
  INFO(explain(compiled));
  CHECK(differences(g, compiled, 1e-5) == "");
  CHECK(count_kernels(compiled.fused) == 1);
  CHECK(print_kernels(compiled.fused).find("local") != std::string::npos);
}

TEST_CASE("views between kernels cost nothing") {
  SmallGraph g;
  auto x = g.input({4, 6, 8});
  auto y = g.unary("aten.exp.default", x);
  auto z = g.unary("aten.neg.default", g.view(y, {24, 8}));
  g.output(g.unary("aten.relu.default", g.permute(g.view(z, {4, 6, 8}), {0, 2, 1})));
  check(g, 1);
}

TEST_CASE("a bias before a transposed copy") {
  SmallGraph g;
  auto x = g.input({4, 6, 8});
  auto bias = g.input({8});
  auto y = g.binary("aten.add.Tensor", x, bias);
  g.output(g.clone(g.permute(y, {2, 0, 1})));
  check(g, 1);
}

TEST_CASE("slices of one producer") {
  SmallGraph g;
  auto x = g.input({6, 24});
  auto bias = g.input({24});
  auto y = g.binary("aten.add.Tensor", x, bias);
  auto a = g.slice(y, 1, 0, 12);
  auto b = g.slice(y, 1, 12, 24);
  g.output(g.binary("aten.mul.Tensor", a, g.unary("aten.sigmoid.default", b)));
  check(g, 1);
}

TEST_CASE("concatenation takes its pieces in") {
  SmallGraph g;
  auto x = g.input({6, 8});
  auto a = g.slice(x, 1, 0, 4);
  auto b = g.slice(x, 1, 4, 8);
  auto rotated = g.cat({g.unary("aten.neg.default", b), a}, 1);
  auto cosine = g.input({6, 8});
  auto sine = g.input({6, 8});
  g.output(g.binary("aten.add.Tensor", g.binary("aten.mul.Tensor", x, cosine),
                    g.binary("aten.mul.Tensor", rotated, sine)));
  const Compiled compiled = compile(g);
  INFO(explain(compiled));
  CHECK(differences(g, compiled, 1e-5) == "");
  CHECK(count_kernels(compiled.fused) <= 2);
}

TEST_CASE("a call between two kernels keeps them apart") {
  SmallGraph g;
  auto x = g.input({8, 8});
  auto y = g.unary("aten.exp.default", x);
  auto z = g.mm(y, x);
  g.output(g.binary("aten.add.Tensor", y, z));
  check(g, 2, 1e-4);
}

TEST_CASE("a full reduction and its use") {
  SmallGraph g;
  auto x = g.input({40, 50});
  auto total = g.reduce("aten.sum.dim_IntList", g.binary("aten.mul.Tensor", x, x), {0, 1}, false);
  g.output(g.unary("aten.sqrt.default", total));
  check(g, 1, 1e-4);
}

TEST_CASE("column reductions with prologue") {
  SmallGraph g;
  auto x = g.input({40, 50});
  auto y = g.input({40, 50});
  g.output(g.scaled(g.reduce("aten.sum.dim_IntList", g.binary("aten.mul.Tensor", x, y), {0}, false),
                    0.5));
  check(g, 1, 1e-4);
}

TEST_CASE("long reductions are split into partial results") {
  SmallGraph g;
  auto x = g.input({300, 500});
  g.output(
      g.unary("aten.sqrt.default",
              g.reduce("aten.sum.dim_IntList", g.binary("aten.mul.Tensor", x, x), {0, 1}, false)));
  g.output(g.reduce("aten.amax.default", g.input({2, 70001}), {1}, true));
  g.output(g.reduce("aten.sum.dim_IntList", g.input({5000, 32}), {0}, false));
  const Compiled compiled = compile(g);
  INFO(print_kernels(compiled.mapped));
  CHECK(differences(g, compiled, 1e-3) == "");  // f32 sums of 150,000 numbers, in another order
  CHECK(count_kernels(compiled.fused) == 3);
  CHECK(count_kernels(compiled.mapped) == 6);
}

TEST_CASE("softmax across memory takes columns as vectors") {
  SmallGraph g;
  auto x = g.input({3, 10, 100});
  auto e = g.unary("aten.exp.default",
                   g.binary("aten.sub.Tensor", x, g.reduce("aten.amax.default", x, {1}, true)));
  g.output(g.binary("aten.div.Tensor", e, g.reduce("aten.sum.dim_IntList", e, {1}, true)));
  const Compiled compiled = compile(g);
  INFO(print_kernels(compiled.mapped));
  CHECK(differences(g, compiled, 1e-6) == "");
  CHECK(count_kernels(compiled.fused) == 1);
  CHECK(print_kernels(compiled.mapped).find("store %row[") != std::string::npos);
}

TEST_CASE("a large concatenation is a kernel per piece, equal pieces one") {
  SmallGraph g;
  auto x = g.input({300, 200});
  auto y = g.input({300, 300});
  g.output(g.cat({x, y}, 1));
  g.output(g.cat({x, g.scaled(x, 2.0)}, 1));
  const Compiled compiled = compile(g);
  INFO(print_kernels(compiled.mapped));
  CHECK(differences(g, compiled, 1e-6) == "");
  CHECK(print_kernels(compiled.mapped).find("parallel") != std::string::npos);
}

TEST_CASE("lookups by index fuse with what follows, checks and all") {
  SmallGraph g;
  auto words = g.input({40, 16});
  auto places = g.input({12, 16});
  auto indices = g.input({3, 12}, DType::kI64);
  auto order = g.input({1, 12}, DType::kI64);
  auto found =
      g.external("aten.embedding.default", {{"weight", words}, {"indices", indices}}, {3, 12, 16});
  auto place =
      g.external("aten.embedding.default", {{"weight", places}, {"indices", order}}, {1, 12, 16});
  g.output(g.unary("aten.exp.default", g.binary("aten.add.Tensor", found, place)));
  const Compiled compiled = compile(g);
  INFO(explain(compiled));
  INFO(print_kernels(compiled.mapped));
  CHECK(differences(g, compiled, 1e-6) == "");
  CHECK(count_kernels(compiled.fused) <= 2);
  CHECK(print_kernels(compiled.mapped).find("check") != std::string::npos);
}

TEST_CASE("channel parameters do not choose the vector loop") {
  SmallGraph g;
  auto y = g.input({2, 64, 16, 16});
  for (int i = 0; i < 8; ++i) y = g.binary("aten.mul.Tensor", y, g.input({64, 1, 1}));
  g.output(y);
  const Compiled compiled = compile(g);
  const std::string text = print_kernels(compiled.mapped);
  INFO(text);
  CHECK(differences(g, compiled, 1e-5) == "");
  CHECK(text.find("in 256 vector(16)") != std::string::npos);  // along the image
}

namespace {

// The fused and the mapped kernels and every decision, as one text.
std::string story(const SmallGraph& g) {
  const Compiled compiled = compile(g);
  return "# fused\n" + explain(compiled) + "# mapped\n" + print_kernels(compiled.mapped);
}

}  // namespace

TEST_CASE("goldens") {
  {
    SmallGraph g;
    auto x = g.input({64, 1000});
    auto e = g.unary("aten.exp.default",
                     g.binary("aten.sub.Tensor", x, g.reduce("aten.amax.default", x, {1}, true)));
    g.output(g.binary("aten.div.Tensor", e, g.reduce("aten.sum.dim_IntList", e, {1}, true)));
    check_golden("fusion/softmax_written_out.txt", story(g));
  }
  {
    SmallGraph g;
    auto a = g.input({2, 32, 256}, DType::kBF16);
    auto b = g.input({2, 32, 256}, DType::kBF16);
    auto weight = g.input({256}, DType::kBF16);
    auto x = g.binary("aten.add.Tensor", a, b);
    g.output(x);
    g.output(g.layer_norm(x, weight, g.input({256}, DType::kBF16)));
    check_golden("fusion/residual_layer_norm_bf16.txt", story(g));
  }
  {
    SmallGraph g;
    const ir::SymExpr batch = g.symbol("s0", 8);
    auto x = g.input({batch, 12, 64});
    auto y = g.unary("aten.gelu.default", g.binary("aten.add.Tensor", x, g.input({64})));
    g.output(g.clone(g.permute(y, {0, 2, 1})));
    g.output(g.reduce("aten.sum.dim_IntList", y, {2}, false));
    check_golden("fusion/bias_gelu_transposed_symbolic.txt", story(g));
  }
  {
    SmallGraph g;
    auto x = g.input({16, 64});
    auto rotated =
        g.cat({g.unary("aten.neg.default", g.slice(x, 1, 32, 64)), g.slice(x, 1, 0, 32)}, 1);
    g.output(g.binary("aten.add.Tensor", g.binary("aten.mul.Tensor", x, g.input({16, 64})),
                      g.binary("aten.mul.Tensor", rotated, g.input({16, 64}))));
    check_golden("fusion/rotary.txt", story(g));
  }
}

TEST_CASE("empty tensors") {
  SmallGraph g;
  auto x = g.input({3, 0, 5});
  auto bias = g.input({5});
  auto y = g.binary("aten.add.Tensor", g.clone(g.permute(x, {2, 1, 0})), g.input({3}));
  g.output(g.unary("aten.exp.default", y));
  g.output(g.reduce("aten.sum.dim_IntList", g.binary("aten.mul.Tensor", x, bias), {1}, false));
  const Compiled compiled = compile(g);
  INFO(explain(compiled));
  CHECK(differences(g, compiled, 1e-6) == "");
}

TEST_CASE("siblings over one input") {
  SmallGraph g;
  auto x = g.input({16, 64});
  g.output(g.unary("aten.exp.default", x));
  g.output(g.unary("aten.sin.default", x));
  g.output(g.reduce("aten.amax.default", x, {1}, false));
  g.output(g.reduce("aten.sum.dim_IntList", x, {1}, false));
  check(g, 1);
}

namespace {

void check_random(bool symbols, std::uint32_t seeds) {
  std::size_t kernels_before = 0;
  std::size_t kernels_after = 0;
  const char* only = std::getenv("TRIPTYCH_SEED");  // one program again
  if (const char* more = std::getenv("TRIPTYCH_SEEDS"))
    seeds = static_cast<std::uint32_t>(std::atoi(more));
  const std::uint32_t first = only != nullptr ? static_cast<std::uint32_t>(std::atoi(only)) : 0;
  const std::uint32_t last = only != nullptr ? first + 1 : seeds;
  for (std::uint32_t seed = first; seed < last; ++seed) {
    const SmallGraph g =
        random_graph(seed, {.ops = 6 + static_cast<int>(seed % 12), .symbols = symbols});
    CAPTURE(seed);
    // With eager's rounding fusion changes no number, up to the order of sums.
    const Compiled compiled = compile(g, true);
    INFO(print_kernels(compiled.lowered));
    INFO(explain(compiled));
    REQUIRE(differences(g, compiled, 2e-5) == "");
    kernels_before += count_kernels(compiled.lowered);
    kernels_after += count_kernels(compiled.fused);
  }
  if (only == nullptr)
    CHECK(kernels_after * 2 < kernels_before);  // the property is about fused programs
  MESSAGE(kernels_before << " kernels became " << kernels_after);
}

}  // namespace

TEST_CASE("random programs: fused and mapped equal lowered") { check_random(false, 300); }

TEST_CASE("random programs with symbolic sizes") { check_random(true, 300); }

namespace {

// One block of GPT-2 as normalization leaves it: linear layers are calls with the bias as a kernel
// of its own.
ValueId gpt2_block(SmallGraph& g, ValueId x, const Sizes& shape, std::int64_t heads) {
  const ir::SymExpr rows = shape[0] * shape[1];
  const std::int64_t width = shape[2].constant();
  const auto linear = [&](ValueId in, std::int64_t from, std::int64_t to) {
    return g.binary("aten.add.Tensor", g.mm(g.view(in, {rows, from}), g.input({from, to})),
                    g.input({to}));
  };
  const ValueId normed = g.layer_norm(x, g.input({width}), g.input({width}));
  const ValueId qkv =
      g.view(linear(normed, width, 3 * width), {shape[0], shape[1], 3, heads, width / heads});
  std::vector<ValueId> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(
        g.permute(g.slice(qkv, 2, i, i + 1), {0, 3, 1, 2, 4}));  // read in place by the call
  }
  const ValueId mixed = g.external("aten._scaled_dot_product_flash_attention_for_cpu.default",
                                   {{"query", parts[0]}, {"key", parts[1]}, {"value", parts[2]}},
                                   {shape[0], heads, shape[1], width / heads});
  const ValueId back = g.clone(g.permute(mixed, {0, 2, 1, 3}));
  const ValueId out = g.view(linear(g.view(back, shape), width, width), shape);
  const ValueId residual = g.binary("aten.add.Tensor", out, x);
  const ValueId second = g.layer_norm(residual, g.input({width}), g.input({width}));
  const ValueId hidden = g.view(linear(second, width, 4 * width), {shape[0], shape[1], 4 * width});
  const ValueId cube =
      g.binary("aten.mul.Tensor", g.binary("aten.mul.Tensor", hidden, hidden), hidden);
  const ValueId inner =
      g.scaled(g.binary("aten.add.Tensor", hidden, g.scaled(cube, 0.044715)), 0.7978845608);
  const ValueId gelu =
      g.binary("aten.mul.Tensor", g.scaled(hidden, 0.5), g.unary("aten.tanh.default", inner));
  const ValueId mlp = g.view(linear(gelu, 4 * width, width), shape);
  return g.binary("aten.add.Tensor", residual, mlp);
}

SmallGraph gpt2(int layers, bool symbols = false) {
  SmallGraph g;
  const Sizes shape = {symbols ? g.symbol("s0", 2) : 2, symbols ? g.symbol("s1", 128) : 128, 256};
  ValueId x = g.binary("aten.add.Tensor", g.input(shape), g.input({1, shape[1], 256}));
  for (int i = 0; i < layers; ++i) x = gpt2_block(g, x, shape, 4);
  g.output(g.layer_norm(x, g.input({256}), g.input({256})));
  return g;
}

}  // namespace

TEST_CASE("GPT-2: few distinct kernels, the same for every depth") {
  std::size_t counts[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const Compiled compiled = compile(gpt2(i == 0 ? 6 : 12));
    CHECK(verify_all(compiled.mapped) == "");
    std::set<std::string> keys;
    for (const auto& item : compiled.mapped.items) {
      const auto* kernel = std::get_if<loops::KernelItem>(&item);
      if (kernel == nullptr || !keys.insert(loops::structural_key(kernel->kernel)).second) continue;
      if (i == 0) MESSAGE(print(kernel->kernel));
    }
    counts[i] = keys.size();
  }
  CHECK(count_kernels(compile(gpt2(2, true)).fused) == count_kernels(compile(gpt2(2)).fused));
  CHECK(counts[0] <= 8);
  CHECK(counts[0] == counts[1]);
}
