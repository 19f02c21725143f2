// The text form of kernels, the verifier rule by rule, structural keys, and the reference
// interpreter.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codegen/loops/interpreter.h"
#include "codegen/loops/kernel.h"
#include "codegen/loops/scalar_eval.h"
#include "codegen/loops/special_functions.h"
#include "codegen/mapping/launch_info.h"
#include "round_trip.h"

using namespace triptych;         // NOLINT: test file
using namespace triptych::loops;  // NOLINT

namespace {

const char* const kSoftmax =
    R"(kernel softmax[s0](in %x: f32[8*s0], out %y: f32[8*s0]) from (a, b) {
  local %t: f32[8]
  for i0 in s0 {
    for i1 in 8 reduce(v1 = max v0) {
      v0 = load %x[8*i0 + i1]
    }
    for i2 in 8 reduce(v5 = sum v4) {
      v2 = load %x[8*i0 + i2]
      v3 = sub v2, v1
      v4 = exp v3
      store %t[i2], v4
    }
    for i3 in 8 {
      v6 = load %t[i3]
      v7 = div v6, v5
      store %y[8*i0 + i3], v7
    }
  }
}
)";

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text);
  INFO((kernel.ok() ? std::string() : kernel.error().describe()));
  REQUIRE(kernel.ok());
  return kernel.value();
}

// A kernel of this body over f32 %x, i64 %k and output %y, 8 elements each.
std::string with_body(const std::string& body, const std::string& locals = "") {
  return "kernel k(in %x: f32[8], in %k: i64[8], in %h: bf16[8], out %y: f32[8]) {\n" + locals +
         body + "}\n";
}

// The rule that the verifier complains about first; empty when it has no complaint.
std::string broken_rule(const std::string& text) {
  const auto errors = verify_kernel(parsed(text));
  if (errors.empty()) return {};
  const std::string& message = errors[0].message;
  const std::size_t begin = message.find("rule ") + 5;
  return message.substr(begin, message.find(':', begin) - begin);
}

double run_scalar(const std::string& expression, double x, double y = 0) {
  const std::string text =
      "kernel k(in %x: f32[1], in %z: f32[1], out %y: f32[1]) {\n  v0 = load %x[0]\n" +
      std::string("  v1 = load %z[0]\n  v2 = ") + expression + "\n  store %y[0], v2\n}\n";
  const Kernel kernel = parsed(text);
  float in = static_cast<float>(x);
  float other = static_cast<float>(y);
  float out = 0;
  void* buffers[] = {&in, &other, &out};
  std::int32_t error = 0;
  REQUIRE(interpret(kernel, buffers, {}, error).ok());
  return out;
}

}  // namespace

TEST_CASE("printing and parsing are inverse") {
  for (const std::string& text : {
           std::string(kSoftmax),
           std::string(
               "kernel m(in %x: bf16[64], in %i: i64[8], out %y: f32[8], workspace %w: f64[4]) {\n"
               "  v0 = const -inf : f64\n  v1 = const nan : f32\n  v2 = const 1e-05 : f32\n"
               "  v3 = const -3 : i64\n  v4 = const true : bool\n  v5 = const -0.0 : f32\n"
               "  for i0 in min(s, 4) parallel vector(16) unroll(2) {\n"
               "    v6 = load %i[i0]\n    v7 = index [8*floordiv(i0, 2) + mod(i0, 2)]\n"
               "    v8 = lt v6, v7\n    check v8, index_out_of_range\n    check v4, "
               "division_by_zero\n"
               "    v9 = load %x[v6 + 1]\n    v10 = cast v9 : f32\n    v11 = bitcast v10 : i32\n"
               "    for i1 in 4 vector(8) reduce(v14, v15 = welford v13; v16 = sum v13) {\n"
               "      v12 = load %x[i1]\n      v13 = cast v12 : f32\n    }\n"
               "    store %y[i0], v14\n  }\n}\n"),
       }) {
    const Kernel kernel = parsed(text);
    CHECK(print(kernel) == text);
    CHECK(testing::round_trip_complaint(kernel) == "");
  }
}

TEST_CASE("malformed text is refused with its line") {
  for (const char* text :
       {"kernel", "kernel k(in %x: f33[2]) {}", "kernel k(in %x: f32[2]) { v0 = load %y[0] }",
        "kernel k(in %x: f32[2]) {\n v0 = const 1\n}", "kernel k() { v0 = frobnicate v0 }",
        "kernel k() { for i0 in 3 {", "kernel k() { v4000000000 = index [0] }", "kernel k() {} }",
        "kernel k(in %x: f32[1], in %x: f32[1]) {}"}) {
    const auto kernel = parse_kernel(text);
    INFO(text);
    CHECK_FALSE(kernel.ok());
  }
  CHECK(parse_kernel("kernel k() {\n\n  v0 = bad v1\n}").error().message.find("line 3") !=
        std::string::npos);
}

TEST_CASE("the verifier accepts the worked example") { CHECK(broken_rule(kSoftmax) == ""); }

TEST_CASE("the verifier names the broken rule") {
  const auto loop = [](const std::string& inside) {
    return with_body("for i0 in 8 {\n" + inside + "}\n");
  };
  // 1: definitions and uses
  CHECK(broken_rule(loop("v0 = load %x[i0]\nv0 = load %x[i0]\nstore %y[i0], v0\n")) == "1");
  CHECK(broken_rule(with_body(
            "for i0 in 8 {\nv0 = load %x[i0]\n}\nfor i1 in 8 {\nstore %y[i1], v0\n}\n")) == "1");
  CHECK(broken_rule(with_body(
            "for i0 in 8 reduce(v1, v2 = sum v0) {\nv0 = load %x[i0]\n}\nstore %y[0], v1\n")) ==
        "1");
  // 2: indices
  CHECK(broken_rule(loop("v0 = load %x[i7]\nstore %y[i0], v0\n")) == "2");
  CHECK(broken_rule(with_body(
            "for i0 in 8 {\nfor i0 in 8 {\nv0 = load %x[i0]\nstore %y[i0], v0\n}\n}\n")) == "2");
  // 3: indirect indices
  CHECK(broken_rule(loop("v0 = load %k[i0]\nv1 = load %x[v0]\nstore %y[i0], v1\n")) == "3");
  CHECK(broken_rule(loop(
            "v0 = load %k[i0]\nv2 = const 8 : i64\nv3 = lt v0, v2\ncheck v3, index_out_of_range\n"
            "v1 = load %x[v0]\nstore %y[i0], v1\n")) == "");
  // 4: independent iterations
  CHECK(broken_rule(loop("v0 = load %x[i0]\nstore %y[0], v0\n")) == "4");
  CHECK(broken_rule(loop("v0 = load %y[i0]\nstore %y[i0], v0\n")) == "4");
  CHECK(broken_rule(with_body("for i0 in 8 {\nv0 = load %t[i0]\nstore %y[i0], v0\n}\n",
                              "local %t: f32[8]\n")) == "4");
  // 5: dtypes
  CHECK(broken_rule(
            loop("v0 = load %h[i0]\nv1 = neg v0\nv2 = cast v1 : f32\nstore %y[i0], v2\n")) == "5");
  CHECK(broken_rule(loop("v0 = load %k[i0]\nstore %y[i0], v0\n")) == "5");
  CHECK(broken_rule(loop(
            "v0 = load %x[i0]\nv1 = load %k[i0]\nv2 = add v0, v1\nstore %y[i0], v2\n")) == "5");
}

TEST_CASE("the verifier checks mapped kernels") {
  const std::string store = "v0 = load %x[i0]\nstore %y[i0], v0\n";
  CHECK(broken_rule(with_body("for i0 in 8 parallel vector(16) {\n" + store + "}\n")) == "");
  CHECK(broken_rule(with_body("for i0 in 8 parallel {\n" + store +
                              "}\nv1 = const 0.0 : f32\nstore %y[0], v1\n")) == "M1");
  CHECK(broken_rule(with_body("for i1 in 1 {\nfor i0 in 8 parallel {\n" + store + "}\n}\n")) ==
        "M1");
  CHECK(broken_rule(
            with_body("for i0 in 4 vector(4) {\nfor i1 in 2 vector(2) {\nv0 = load %x[i0 + 4*i1]\n"
                      "store %y[i0 + 4*i1], v0\n}\n}\n")) == "M2");
  CHECK(broken_rule(with_body(
            "for i0 in 4 vector(4) {\nfor i1 in i0 reduce(v1 = sum v0) {\nv0 = load %x[i1]\n}\n"
            "store %y[i0], v1\n}\n")) == "M3");
}

TEST_CASE("structural keys ignore names and nothing else") {
  const std::string a =
      "kernel a(in %x: f32[8], out %y: f32[8]) from (p) {\n for i0 in 8 {\n  v3 = load %x[i0]\n"
      "  v9 = exp v3\n  store %y[i0], v9\n }\n}";
  const std::string b =
      "kernel b(in %u: f32[8], out %w: f32[8]) {\n for j in 8 {\n  v0 = load %u[j]\n"
      "  v1 = exp v0\n  store %w[j], v1\n }\n}";
  CHECK(structural_key(parsed(a)) == structural_key(parsed(b)));
  for (const auto& [from, to] :
       {std::pair("exp", "neg"), std::pair("in 8", "in 7"), std::pair("%u[j]", "%u[7 - j]")}) {
    std::string changed = b;
    changed.replace(changed.find(from), std::string(from).size(), to);
    CHECK(structural_key(parsed(a)) != structural_key(parsed(changed)));
  }
  std::string swapped = kSoftmax;  // sizes by position
  CHECK(structural_key(parsed(swapped)).find("s0") == std::string::npos);
}

TEST_CASE("the interpreter runs softmax, mapped or not") {
  for (const bool mapped : {false, true}) {
    std::string text = kSoftmax;
    if (mapped) {
      text.replace(text.find("in s0 {"), 7, "in s0 parallel {");
      text.replace(text.find("in 8 {"), 6, "in 8 vector(16) {");
    }
    const Kernel kernel = parsed(text);
    std::vector<float> x(16), y(16);
    for (int i = 0; i < 16; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 5);
    void* buffers[] = {x.data(), y.data()};
    const std::int64_t symbols[] = {2};
    std::int32_t error = 0;
    REQUIRE(interpret(kernel, buffers, symbols, error).ok());
    for (std::size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < 8; ++i) sum += std::exp(static_cast<double>(x[8 * row + i]));
      for (std::size_t i = 0; i < 8; ++i) {
        const double expected = std::exp(static_cast<double>(x[8 * row + i])) / sum;
        CHECK(y[8 * row + i] == doctest::Approx(expected).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("reductions") {
  const std::string text =
      "kernel r(in %x: f32[5], out %f: f32[5], out %i: i64[1]) {\n"
      "for i0 in 5 reduce(v1 = sum v0; v2 = prod v0; v3 = min v0; v4, v5 = argmax v0; v6, v7 = "
      "welford v0) {\n"
      "v0 = load %x[i0]\n}\nstore %f[0], v1\nstore %f[1], v2\nstore %f[2], v3\nstore %f[3], "
      "v6\nstore %f[4], v7\n"
      "store %i[0], v5\n}\n";
  const Kernel kernel = parsed(text);
  CHECK(verify_kernel(kernel).empty());
  float x[] = {2, -1, 3, 3, 0.5F};
  float f[5];
  std::int64_t position = -1;
  void* buffers[] = {x, f, &position};
  std::int32_t error = 0;
  REQUIRE(interpret(kernel, buffers, {}, error).ok());
  CHECK(f[0] == 7.5F);
  CHECK(f[1] == -9.0F);
  CHECK(f[2] == -1.0F);
  CHECK(f[3] == doctest::Approx(1.5));
  CHECK(f[4] == doctest::Approx(12.0));
  CHECK(position == 2);  // the first of two equal ones
  x[1] = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(interpret(kernel, buffers, {}, error).ok());
  CHECK(position == 1);  // NaN wins
  CHECK(std::isnan(f[2]));
}

TEST_CASE("a failed check stops the kernel and sets the error word") {
  const Kernel kernel = parsed(
      "kernel g(in %x: f32[4], in %k: i64[2], out %y: f32[2]) {\nfor i0 in 2 {\nv0 = load "
      "%k[i0]\nv1 = const 4 : i64\n"
      "v2 = lt v0, v1\ncheck v2, index_out_of_range\nv3 = load %x[v0]\nstore %y[i0], v3\n}\n}\n");
  float x[] = {1, 2, 3, 4};
  std::int64_t k[] = {3, 4};
  float y[] = {0, 0};
  void* buffers[] = {x, k, y};
  std::int32_t error = 0;
  REQUIRE(interpret(kernel, buffers, {}, error).ok());
  CHECK(error == static_cast<std::int32_t>(Check::Code::kIndexOutOfRange));
  CHECK(y[0] == 4.0F);
  CHECK(y[1] == 0.0F);
}

TEST_CASE("an access outside of a buffer is an internal error, not a crash") {
  const Kernel kernel = parsed(
      "kernel b(in %x: f32[4], out %y: f32[5]) {\nfor i0 in 5 {\nv0 = load %x[i0]\n"
      "store %y[i0], v0\n}\n}\n");
  float x[4] = {}, y[5] = {};
  void* buffers[] = {x, y};
  std::int32_t error = 0;
  const Status status = interpret(kernel, buffers, {}, error);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find("outside %x") != std::string::npos);
}

TEST_CASE("scalar operations at their edges") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(run_scalar("max v0, v1", 1, std::nan(""))));
  CHECK(run_scalar("fmax v0, v1", 1, std::nan("")) == 1);
  CHECK(run_scalar("round v0", 2.5) == 2);
  CHECK(run_scalar("round v0", 3.5) == 4);
  CHECK(run_scalar("remainder v0, v1", -7, 3) == 2);
  CHECK(run_scalar("fmod v0, v1", -7, 3) == -1);
  CHECK(run_scalar("floor_div v0, v1", -7, 2) == -4);
  CHECK(run_scalar("floor_div v0, v1", 1, 0) == inf);
  CHECK(run_scalar("trunc_div v0, v1", -7, 2) == -3);
  CHECK(run_scalar("sign v0", -0.0) == 0);
  CHECK(run_scalar("sign v0", std::nan("")) == 0);
  CHECK(run_scalar("erfinv v0", 0.5) == doctest::Approx(0.4769362762));
  CHECK(run_scalar("erfinv v0", -0.999) == doctest::Approx(-2.3267537655));
  CHECK(run_scalar("digamma v0", 1) == doctest::Approx(-0.5772156649));
  CHECK(run_scalar("digamma v0", -0.5) == doctest::Approx(0.03648997398));
  CHECK(run_scalar("i0 v0", 3) == doctest::Approx(4.880792586));
  CHECK(bessel_i0(30) == doctest::Approx(7.816722978e11));
}

TEST_CASE("conversions and integers at their edges") {
  const auto to = [](double value, DType dtype) {
    return convert({value, 0}, DType::kF32, dtype).integer;
  };
  CHECK(to(3e9, DType::kI32) == std::numeric_limits<std::int32_t>::min());
  CHECK(to(std::nan(""), DType::kI64) == std::numeric_limits<std::int64_t>::min());
  CHECK(to(-1.5, DType::kI8) == -1);
  CHECK(to(300, DType::kU8) == 44);
  CHECK(to(std::nan(""), DType::kBool) == 1);
  const auto integer = [](ScalarOp op, std::int64_t a, std::int64_t b, DType dtype) {
    const ScalarValue args[] = {{0, a}, {0, b}};
    const DType types[] = {dtype, dtype};
    return evaluate(op, dtype, args, types).integer;
  };
  CHECK(integer(ScalarOp::kFloorDiv, -7, 2, DType::kI32) == -4);
  CHECK(integer(ScalarOp::kRemainder, -7, 3, DType::kI64) == 2);
  CHECK(integer(ScalarOp::kTruncDiv, 5, 0, DType::kI64) == 0);
  CHECK(integer(ScalarOp::kTruncDiv, std::numeric_limits<std::int64_t>::min(), -1, DType::kI64) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(integer(ScalarOp::kAdd, 127, 1, DType::kI8) == -128);
  CHECK(integer(ScalarOp::kPow, 3, 4, DType::kI32) == 81);
  CHECK(integer(ScalarOp::kPow, 2, -1, DType::kI32) == 0);
  CHECK(integer(ScalarOp::kShiftLeft, 1, 32, DType::kI32) == 0);
  CHECK(integer(ScalarOp::kShiftRight, -8, 40, DType::kI32) == -1);
}

TEST_CASE("16-bit floats round to nearest even") {
  const auto through = [](float value, DType dtype) {
    std::uint16_t bits = 0;
    store_scalar(&bits, 0, dtype, {value, 0});
    return load_scalar(&bits, 0, dtype).number;
  };
  CHECK(through(1.00390625F, DType::kBF16) == 1.0);  // half way: to even
  CHECK(through(1.01171875F, DType::kBF16) == 1.015625);
  CHECK(through(65519.0F, DType::kF16) == 65504.0);
  CHECK(std::isinf(through(65520.0F, DType::kF16)));
  CHECK(through(5.9604645e-8F, DType::kF16) ==
        doctest::Approx(5.9604645e-8));  // the smallest subnormal
  CHECK(through(2.9e-8F, DType::kF16) == 0.0);
  CHECK(std::isnan(through(std::nanf(""), DType::kF16)));
  CHECK(std::isnan(through(std::nanf(""), DType::kBF16)));
}

TEST_CASE("launch information") {
  const Kernel kernel = parsed(
      "kernel k(in %x: f32[64], out %y: f32[64]) {\nlocal %a: f32[5]\nlocal %b: f64[8]\n"
      "for i0 in 4 parallel {\nfor i1 in 16 vector(16) {\nv0 = load %x[16*i0 + i1]\n"
      "v1 = exp v0\nstore %y[16*i0 + i1], v1\n}\n}\n}\n");
  const auto launch = mapping::launch_info(kernel);
  CHECK(launch.parallel_extent == ir::SymExpr(4));
  CHECK(launch.scratch_bytes == ir::SymExpr(128));
  CHECK(launch.iteration_cost_ps.constant() > 16 * 8 * 10);
  const auto offsets = mapping::local_offsets(kernel);
  REQUIRE(offsets.size() == 2);
  CHECK(offsets[1] == ir::SymExpr(64));
}
