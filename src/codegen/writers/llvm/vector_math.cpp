// Polynomials here were fitted by Remez exchange in 40 digits, quotients of polynomials by
// reweighted least squares, both minimising the relative error of the function. The error of a fit
// is stated in units in the last place (ulp) of f32 and stays below rounding.
#include "codegen/writers/llvm/vector_math.h"

#include <functional>
#include <limits>

#include "support/check.h"

namespace triptych::writers::llvm {

namespace {

using loops::ScalarOp;
using mapping::Traits;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2E = 1.4426950408889634;

// ln 2 in two parts: the high one has few enough bits that n * high is exact for |n| < 2^10.
struct Ln2 {
  double high, low;
};
constexpr Ln2 kLn2F32{0.693359375, -2.12194440054690583e-4};
constexpr Ln2 kLn2F64{0.69314718036912381649, 1.90821492927058770002e-10};

// Applies `function` to runs of `native` lanes and joins the results.
template <class Function>
std::string on_pieces(Ops& ops, int native, const std::vector<std::string>& args,
                      const Function& function) {
  if (ops.lanes() == native) return function(args);
  std::vector<std::string> results;
  for (int start = 0; start < ops.lanes(); start += native) {
    std::vector<std::string> pieces;
    for (const std::string& arg : args) {
      pieces.push_back(
          ops.def(cat("shufflevector ", ops.type(), " ", arg, ", ", ops.type(), " poison, ",
                      vector_type("i32", native), " ", iota_literal("i32", native, start, 1))));
    }
    results.push_back(function(pieces));
  }
  int width = native;
  while (results.size() > 1) {  // lane counts are powers of two
    std::vector<std::string> joined;
    std::string type = register_type(ops.dtype(), width);
    for (std::size_t k = 0; k + 1 < results.size(); k += 2) {
      joined.push_back(ops.def(cat("shufflevector ", type, " ", results[k], ", ", type, " ",
                                   results[k + 1], ", ", vector_type("i32", 2 * width), " ",
                                   iota_literal("i32", 2 * width, 0, 1))));
    }
    results = joined;
    width *= 2;
  }
  return results.front();
}

// a > bound ? bound : a (or below); NaN stays.
std::string clamp_above(Ops& ops, const std::string& a, double bound) {
  std::string limit = ops.constant(bound);
  return ops.select(ops.fcmp("olt", limit, a), limit, a);
}
std::string clamp_below(Ops& ops, const std::string& a, double bound) {
  std::string limit = ops.constant(bound);
  return ops.select(ops.fcmp("ogt", limit, a), limit, a);
}

bool has_scalef(const Ops& ops, const Traits& traits) {
  int bytes = ir::dtype_bytes(ops.dtype()) * ops.lanes();
  return traits.vector_bytes == 64 && traits.masked_memory && bytes % 64 == 0;
}

// x * 2^n for whole n, rounding once; the hardware's instruction, 64 bytes at a time.
std::string scalef(Ops& ops, const std::string& x, const std::string& n) {
  bool is_double = ops.dtype() == DType::kF64;
  int native = is_double ? 8 : 16;
  std::string type = register_type(ops.dtype(), native);
  std::string mask = is_double ? "i8" : "i16";
  std::string name = cat("llvm.x86.avx512.mask.scalef.", is_double ? "pd" : "ps", ".512");
  ops.code().declare(
      name, cat(type, " @", name, "(", type, ", ", type, ", ", type, ", ", mask, ", i32)"));
  auto piece = [&](const std::string& a, const std::string& b) {
    return ops.def(cat("call ", type, " @", name, "(", type, " ", a, ", ", type, " ", b, ", ", type,
                       " zeroinitializer, ", mask, " -1, i32 4)"));
  };
  return on_pieces(ops, native, {x, n},
                   [&](const std::vector<std::string>& args) { return piece(args[0], args[1]); });
}

// x * 2^n by integer arithmetic, in two steps so that results below the normal range round right.
std::string scale_by_bits(Ops& ops, const std::string& x, const std::string& n) {
  bool is_double = ops.dtype() == DType::kF64;
  Ops ints = ops.with(is_double ? DType::kI64 : DType::kI32);
  std::string whole = ops.convert("fptosi", n, ints.dtype());
  std::string first = ints.binary("ashr", whole, ints.integer(1));
  std::string second = ints.binary("sub", whole, first);
  auto power = [&](const std::string& exponent) {
    std::string biased = ints.binary("add", exponent, ints.integer(is_double ? 1023 : 127));
    return ints.convert("bitcast", ints.binary("shl", biased, ints.integer(is_double ? 52 : 23)),
                        ops.dtype());
  };
  return ops.binary("fmul", ops.binary("fmul", x, power(first)), power(second));
}

// exp(x) for x clamped to the range where the result is not 0 or infinite for sure; NaN stays.
//   n = round(x / ln 2), r = x - n ln 2, e^x = 2^n (1 + r + r^2 q(r))
std::string exp_of(Ops& ops, const Traits& traits, const std::string& argument) {
  bool is_double = ops.dtype() == DType::kF64;
  std::string x =
      clamp_below(ops, clamp_above(ops, argument, is_double ? 710 : 89), is_double ? -746 : -104);
  bool scale = has_scalef(ops, traits);
  if (!scale) {  // NaN has no whole part: compute with 0 and put it back
    x = ops.select(ops.fcmp("uno", argument, argument), ops.constant(0), x);
  }
  const Ln2& ln2 = is_double ? kLn2F64 : kLn2F32;
  // Adding 1.5 * 2^23 (2^52) rounds to a whole number, as |n| is small.
  std::string shift = ops.constant(is_double ? 6755399441055744.0 : 12582912.0);
  std::string n = ops.binary("fsub", ops.fma(x, ops.constant(kLog2E), shift), shift);
  std::string r = ops.fma(n, ops.constant(-ln2.high), x);
  r = ops.fma(n, ops.constant(-ln2.low), r);
  std::string q =
      is_double
          ? ops.polynomial(r, {2.0826057287576383e-9, 2.5112716757392275e-8, 2.7557587851168288e-7,
                               2.7557232938184982e-6, 2.4801586913706212e-5, 1.9841269898278565e-4,
                               1.3888888889126109e-3, 8.3333333333162833e-3, 4.1666666666666061e-2,
                               1.6666666666666684e-1, 0.5})
          : ops.polynomial(r, {1.3813767720959523e-3, 8.3691181279918464e-3, 4.1668427168495077e-2,
                               1.6666517307267659e-1, 4.9999993222760662e-1});  // 0.03 ulp
  std::string e = ops.binary("fadd", ops.fma(ops.binary("fmul", q, r), r, r), ops.constant(1));
  if (scale) return scalef(ops, e, n);
  std::string result = scale_by_bits(ops, e, n);
  return ops.select(ops.fcmp("uno", argument, argument), argument, result);
}

std::string sigmoid_of(Ops& ops, const Traits& traits, const std::string& x) {
  std::string e = exp_of(ops, traits, ops.neg(x));
  return ops.div(ops.constant(1), ops.binary("fadd", e, ops.constant(1)));
}

// Odd functions that end at 1: t P(t^2) / Q(t^2) for t = min(|x|, limit), at most 1, with the sign
// of x. One division and few multiplications; the relative error stays below 3e-7 (0.35 ulp of it
// by the fit).
std::string saturating(Ops& ops, const std::string& x, double limit, const std::vector<double>& p,
                       const std::vector<double>& q) {
  std::string t = clamp_above(ops, ops.abs(x), limit);
  std::string z = ops.binary("fmul", t, t);
  std::string ratio = ops.div(ops.binary("fmul", t, ops.polynomial(z, p)), ops.polynomial(z, q));
  return ops.intrinsic("llvm.copysign", {clamp_above(ops, ratio, 1), x});
}

std::string tanh_f32(Ops& ops, const std::string& x) {
  return saturating(ops, x, 9.0,
                    {1.33545973e-8, 2.06090326e-5, 3.49558495e-3, 1.33810229e-1, 9.99999979e-1},
                    {7.77653103e-7, 3.28562973e-4, 2.58769699e-2, 4.67143385e-1, 1});
}

std::string erf_f32(Ops& ops, const std::string& x) {
  return saturating(
      ops, x, 3.92,
      {2.05008684e-6, 2.84883624e-4, 3.76564304e-3, 5.27488036e-2, 1.90407033e-1, 1.12837915},
      {3.80917579e-5, 1.16254244e-3, 1.49692682e-2, 1.14109351e-1, 5.0207658e-1, 1});
}

// x = 2^k (1 + m), 1/sqrt 2 <= 1 + m < sqrt 2: log x = k ln 2 + m - m^2/2 + m^3 q(m)
std::string log_f32(Ops& ops, const std::string& x) {
  Ops ints = ops.with(DType::kI32);
  std::string tiny = ops.fcmp("olt", x, ops.constant(1.17549435082228751e-38));
  std::string scaled = ops.select(tiny, ops.binary("fmul", x, ops.constant(8388608.0)), x);
  std::string bits = ops.convert("bitcast", scaled, DType::kI32);
  // Adding 1 - bits(1/sqrt 2) carries into the exponent field exactly where the mantissa is above
  // sqrt 2.
  std::string shifted = ints.binary("add", bits, ints.integer(0x3f800000 - 0x3f3504f3));
  std::string exponent =
      ints.binary("sub", ints.binary("ashr", shifted, ints.integer(23)), ints.integer(127));
  std::string mantissa = ints.binary("add", ints.binary("and", shifted, ints.integer(0x007fffff)),
                                     ints.integer(0x3f3504f3));
  std::string m =
      ops.binary("fsub", ints.convert("bitcast", mantissa, DType::kF32), ops.constant(1));
  std::string k = ints.convert("sitofp", exponent, DType::kF32);
  k = ops.select(tiny, ops.binary("fsub", k, ops.constant(23)), k);
  std::string q =
      ops.polynomial(m, {6.746651523364135e-2, -1.1675654570782283e-1, 1.1888158846950967e-1,
                         -1.240558824163557e-1, 1.4219552732485368e-1, -1.6667995904872702e-1,
                         2.0002118642565147e-1, -2.5000009598317472e-1, 3.333331260429507e-1});
  std::string square = ops.binary("fmul", m, m);
  std::string tail = ops.binary("fmul", ops.binary("fmul", square, m), q);
  tail = ops.fma(k, ops.constant(kLn2F32.low), tail);
  tail = ops.fma(square, ops.constant(-0.5), tail);
  std::string result = ops.fma(k, ops.constant(kLn2F32.high), ops.binary("fadd", m, tail));
  result = ops.select(ops.fcmp("oeq", x, ops.constant(kInfinity)), x, result);
  result = ops.select(ops.fcmp("ult", x, ops.constant(0)),
                      ops.constant(std::numeric_limits<double>::quiet_NaN()), result);
  return ops.select(ops.fcmp("oeq", x, ops.constant(0)), ops.constant(-kInfinity), result);
}

struct Library {
  ScalarOp op;
  std::string_view libm;   // "exp": exp and expf
  std::string_view sleef;  // "exp@_u10": Sleef_expf16_u10, Sleef_expd8_u10; empty: none
  int arity = 1;
};

const Library& library(ScalarOp op) {
  static constexpr Library kLibrary[] = {
      {ScalarOp::kExp, "exp", "exp@_u10"},
      {ScalarOp::kExp2, "exp2", "exp2@_u10"},
      {ScalarOp::kExpm1, "expm1", "expm1@_u10"},
      {ScalarOp::kLog, "log", "log@_u10"},
      {ScalarOp::kLog2, "log2", "log2@_u10"},
      {ScalarOp::kLog10, "log10", "log10@_u10"},
      {ScalarOp::kLog1p, "log1p", "log1p@_u10"},
      {ScalarOp::kSin, "sin", "sin@_u10"},
      {ScalarOp::kCos, "cos", "cos@_u10"},
      {ScalarOp::kTan, "tan", "tan@_u10"},
      {ScalarOp::kAsin, "asin", "asin@_u10"},
      {ScalarOp::kAcos, "acos", "acos@_u10"},
      {ScalarOp::kAtan, "atan", "atan@_u10"},
      {ScalarOp::kSinh, "sinh", "sinh@_u10"},
      {ScalarOp::kCosh, "cosh", "cosh@_u10"},
      {ScalarOp::kTanh, "tanh", "tanh@_u10"},
      {ScalarOp::kAsinh, "asinh", ""},
      {ScalarOp::kAcosh, "acosh", ""},
      {ScalarOp::kAtanh, "atanh", "atanh@_u10"},
      {ScalarOp::kAtan2, "atan2", "atan2@_u10", 2},
      {ScalarOp::kHypot, "hypot", "hypot@_u05", 2},
      {ScalarOp::kErf, "erf", "erf@_u10"},
      {ScalarOp::kErfc, "erfc", "erfc@_u15"},
      {ScalarOp::kLgamma, "lgamma", "lgamma@_u10"},
      {ScalarOp::kPow, "pow", "pow@_u10", 2},
      {ScalarOp::kFmod, "fmod", "", 2},
      {ScalarOp::kNextafter, "nextafter", "nextafter@", 2},
      {ScalarOp::kErfinv, "triptych_erfinv", ""},
      {ScalarOp::kDigamma, "triptych_digamma", ""},
      {ScalarOp::kI0, "triptych_i0", ""},
  };
  for (const Library& entry : kLibrary) {
    if (entry.op == op) return entry;
  }
  TRIPTYCH_UNREACHABLE(cat(loops::info(op).name, " has no library function"));
}

std::string call(Ops& ops, const std::string& name, int lanes,
                 const std::vector<std::string>& args) {
  std::string type = register_type(ops.dtype(), lanes);
  std::string signature, list;
  for (const std::string& arg : args) {
    signature += cat(signature.empty() ? "" : ", ", type);
    list += cat(list.empty() ? "" : ", ", type, " ", arg);
  }
  ops.code().declare(name, cat(type, " @", name, "(", signature, ")"));
  ops.code().external(name);
  return ops.def(cat("call ", type, " @", name, "(", list, ")"));
}

std::string one_by_one(Ops& ops, const std::string& name, const std::vector<std::string>& args) {
  if (ops.lanes() == 1) return call(ops, name, 1, args);
  std::string result = "poison";
  for (int lane = 0; lane < ops.lanes(); ++lane) {
    std::vector<std::string> scalars;
    for (const std::string& arg : args) {
      scalars.push_back(ops.def(cat("extractelement ", ops.type(), " ", arg, ", i64 ", num(lane))));
    }
    result =
        ops.def(cat("insertelement ", ops.type(), " ", result, ", ", register_type(ops.dtype(), 1),
                    " ", call(ops, name, 1, scalars), ", i64 ", num(lane)));
  }
  return result;
}

std::string by_library(Ops& ops, const Traits& traits, ScalarOp op,
                       const std::vector<std::string>& args) {
  const Library& entry = library(op);
  bool is_double = ops.dtype() == DType::kF64;
  int native = traits.vector_bytes / ir::dtype_bytes(ops.dtype());
  if (entry.sleef.empty() || ops.lanes() % native != 0 || traits.vector_bytes < 32) {
    return one_by_one(ops, cat(entry.libm, is_double ? "" : "f"), args);
  }
  std::size_t at = entry.sleef.find('@');
  std::string name = cat("Sleef_", entry.sleef.substr(0, at), is_double ? "d" : "f", num(native),
                         entry.sleef.substr(at + 1));
  return on_pieces(ops, native, args, [&](const std::vector<std::string>& pieces) {
    return call(ops, name, native, pieces);
  });
}

// A function of the module: `fast` where `inside` holds for every lane, else `slow` for all of
// them. A branch of its own keeps what is rare out of the kernel's loop.
using Body = std::function<std::string(Ops&, const std::vector<std::string>&)>;
struct Guarded {
  std::string name;
  Body inside, fast, slow;
};

std::string call_guarded(Ops& ops, const Guarded& function, const std::vector<std::string>& args) {
  const std::string name = cat("triptych_", function.name, ".", mangled(ops.dtype(), ops.lanes()));
  Code code;
  Ops inner(code, ops.dtype(), ops.lanes(), 0);
  std::string parameters, list;
  std::vector<std::string> given;
  for (std::size_t k = 0; k < args.size(); ++k) {
    given.push_back(cat("%x", num(static_cast<std::int64_t>(k))));
    parameters += cat(k == 0 ? "" : ", ", ops.type(), " ", given.back());
    list += cat(k == 0 ? "" : ", ", ops.type(), " ", args[k]);
  }
  const std::string inside = function.inside(inner, given);
  const std::string fast = function.fast(inner, given);
  const std::string bits = cat("i", num(ops.lanes()));
  const std::string packed =
      inner.def(cat("bitcast ", vector_type("i1", ops.lanes()), " ", inside, " to ", bits));
  const std::string all = inner.def(cat("icmp eq ", bits, " ", packed, ", -1"));
  code.here() += cat("  br i1 ", all, ", label %common, label %rare\nrare:\n");
  const std::string slow = function.slow(inner, given);
  code.here() +=
      cat("  ret ", ops.type(), " ", slow, "\ncommon:\n  ret ", ops.type(), " ", fast, "\n");
  const std::string text = code.close_region().body;
  for (const auto& [key, declaration] : code.needs().declarations)
    ops.code().declare(key, declaration);
  for (const std::string& external : code.needs().externals) ops.code().external(external);
  ops.code().helper(name, cat("define internal ", ops.type(), " @", name, "(", parameters,
                              ") #0 {\nentry:\n", text, "}\n"));
  return ops.def(cat("call ", ops.type(), " @", name, "(", list, ")"));
}

// n = round(x 2/pi), r = x - n pi/2 in three parts of pi/2, then sin r or cos r by the quadrant.
// All parts are positive, so that r is -0 where x is.
std::string sine_f32(Ops& ops, const std::string& x, bool cosine) {
  Ops ints = ops.with(DType::kI32);
  std::string shift = ops.constant(12582912.0);
  std::string n = ops.binary("fsub", ops.fma(x, ops.constant(0.63661977236758134), shift), shift);
  std::string r = ops.fma(n, ops.constant(-1.570796251296997), x);
  r = ops.fma(n, ops.constant(-7.549789415861596e-08), r);
  r = ops.fma(n, ops.constant(-5.390302529957765e-15), r);
  std::string quadrant = ops.convert("fptosi", n, DType::kI32);
  if (cosine) quadrant = ints.binary("add", quadrant, ints.integer(1));
  std::string z = ops.binary("fmul", r, r);
  std::string p = ops.polynomial(  // 0.06 ulp
      z, {-1.9515283185945731e-4, 8.3321607618059648e-3, -1.666665460954752e-1});
  std::string sine = ops.fma(ops.binary("fmul", p, z), r, r);
  sine = ops.intrinsic("llvm.copysign", {sine, r});  // of -0 too
  std::string q = ops.polynomial(
      z, {2.4433157070448445e-5, -1.3887316254481262e-3, 4.1666645682978313e-2, -0.5, 1});
  std::string odd = ints.icmp("ne", ints.binary("and", quadrant, ints.integer(1)), ints.integer(0));
  std::string value = ops.select(odd, q, sine);
  std::string sign =
      ints.binary("shl", ints.binary("and", quadrant, ints.integer(2)), ints.integer(30));
  std::string flipped = ints.binary("xor", ops.convert("bitcast", value, DType::kI32), sign);
  return ints.convert("bitcast", flipped, DType::kF32);
}

// |a| - q |b| with q = |a| / |b| cut, which may be 1 too large by rounding: every step is exact
// while q has no more digits than the type. The sign is a's.
std::string fmod_of(Ops& ops, const std::string& a, const std::string& b) {
  std::string x = ops.abs(a);
  std::string y = ops.abs(b);
  std::string q = ops.intrinsic("llvm.trunc", {ops.div(x, y)});
  std::string r = ops.fma(ops.neg(q), y, x);
  r = ops.select(ops.fcmp("olt", r, ops.constant(0)), ops.binary("fadd", r, y), r);
  r = ops.select(ops.fcmp("olt", x, y), x, r);  // also for infinite b
  return ops.intrinsic("llvm.copysign", {r, a});
}

std::string guarded_function(Ops& ops, const Traits& traits, ScalarOp op,
                             const std::vector<std::string>& args) {
  using Values = std::vector<std::string>;
  const bool is_fmod = op == ScalarOp::kFmod;
  const auto small = [](Ops& o, const Values& x) {  // n pi/2 is exact enough up to here
    return o.fcmp("ole", o.abs(x[0]), o.constant(30000));
  };
  const auto few_digits = [](Ops& o, const Values& x) {
    const double limit = o.dtype() == DType::kF64 ? 4503599627370496.0 : 8388608.0;
    return o.fcmp("olt", o.div(o.abs(x[0]), o.abs(x[1])), o.constant(limit));
  };
  Guarded function{.name = std::string(loops::info(op).name)};
  if (is_fmod) {
    function.inside = few_digits;
    function.fast = [](Ops& o, const Values& x) { return fmod_of(o, x[0], x[1]); };
  } else {
    function.inside = small;
    function.fast = [op](Ops& o, const Values& x) {
      return sine_f32(o, x[0], op == ScalarOp::kCos);
    };
  }
  function.slow = [&traits, op](Ops& o, const Values& x) { return by_library(o, traits, op, x); };
  return call_guarded(ops, function, args);
}

}  // namespace

std::string math_function(Ops& ops, const Traits& traits, ScalarOp op,
                          const std::vector<std::string>& args) {
  bool is_float = ops.dtype() == DType::kF32;
  if (traits.fma && ops.lanes() > 1) {
    if (op == ScalarOp::kExp) return exp_of(ops, traits, args[0]);
    if (op == ScalarOp::kTanh && is_float) return tanh_f32(ops, args[0]);
    if (op == ScalarOp::kErf && is_float) return erf_f32(ops, args[0]);
    if (op == ScalarOp::kLog && is_float) return log_f32(ops, args[0]);
    if (op == ScalarOp::kSigmoid) return sigmoid_of(ops, traits, args[0]);
    const bool sine = op == ScalarOp::kSin || op == ScalarOp::kCos;
    if ((sine && is_float) || op == ScalarOp::kFmod) {
      return guarded_function(ops, traits, op, args);
    }
  } else if (op == ScalarOp::kSigmoid) {
    std::string e = by_library(ops, traits, ScalarOp::kExp, {ops.neg(args[0])});
    return ops.div(ops.constant(1), ops.binary("fadd", e, ops.constant(1)));
  }
  return by_library(ops, traits, op, args);
}

}  // namespace triptych::writers::llvm
