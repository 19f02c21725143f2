#include "codegen/writers/llvm/scalar_text.h"

#include <cmath>
#include <limits>

#include "codegen/loops/scalar_types.h"
#include "codegen/writers/llvm/vector_math.h"
#include "support/check.h"

namespace triptych::writers::llvm {

namespace {

using loops::ScalarOp;

std::string all(DType dtype, std::string_view lane, int lanes) {
  return splat_literal(dtype, std::string(lane), lanes);
}

std::string not_i1(Ops& bools, const std::string& value) {
  return bools.binary("xor", value, all(DType::kBool, "true", bools.lanes()));
}

// f32 to bf16, rounding to nearest even, exact for denormals too; NaN becomes 0x7FC0. `is_bf16`:
// there is nothing to round.
std::string bf16_by_integers(Ops& f32, const std::string& value, bool is_bf16) {
  Ops i32 = f32.with(DType::kI32);
  Code& code = f32.code();
  std::string narrow = memory_type(DType::kBF16, f32.lanes());
  std::string bits =
      code.define(f32.level(), cat("bitcast ", f32.type(), " ", value, " to ", i32.type()));
  std::string cut = i32.binary("lshr", bits, i32.integer(16));
  std::string chosen = cut;
  if (!is_bf16) {
    std::string odd = i32.binary("and", cut, i32.integer(1));
    std::string sum = i32.binary("add", bits, i32.binary("add", odd, i32.integer(0x7fff)));
    std::string rounded = i32.binary("lshr", sum, i32.integer(16));
    chosen = i32.select(f32.fcmp("uno", value, value), i32.integer(0x7fc0), rounded);
  }
  std::string half =
      code.define(f32.level(), cat("trunc ", i32.type(), " ", chosen, " to ", narrow));
  return code.define(f32.level(), cat("bitcast ", narrow, " ", half, " to ",
                                      register_type(DType::kBF16, f32.lanes())));
}

// Out of range and NaN give the lowest integer of i32 (i64 for i64, u32, u64), as the hardware's
// conversion.
std::string float_to_integer(Ops& from, const std::string& value, DType to) {
  bool narrow = ir::dtype_bytes(to) <= 4 && to != DType::kU32;
  DType through = narrow ? DType::kI32 : DType::kI64;
  double limit = narrow ? 2147483648.0 : 9223372036854775808.0;
  Ops wide = from.with(through);
  Ops bools = from.with(DType::kBool);
  // -2^31 - 0.5 is in range of the truncation, in f64: compare against the next integer below.
  bool exact_below = from.dtype() == DType::kF64 && narrow;
  std::string low = exact_below ? from.fcmp("ogt", value, from.constant(-limit - 1))
                                : from.fcmp("oge", value, from.constant(-limit));
  std::string fits = bools.binary("and", low, from.fcmp("olt", value, from.constant(limit)));
  std::string safe = from.select(fits, value, from.constant(0));
  std::string lowest = narrow ? wide.integer(std::numeric_limits<std::int32_t>::min())
                              : wide.integer(std::numeric_limits<std::int64_t>::min());
  std::string integer = wide.select(fits, from.convert("fptosi", safe, through), lowest);
  return ir::dtype_bytes(to) < ir::dtype_bytes(through) ? wide.convert("trunc", integer, to)
                                                        : integer;
}

std::string integer_divide(Ops& ops, ScalarOp op, const std::string& a, const std::string& b) {
  bool is_signed = ir::is_signed(ops.dtype());
  bool quotient = op == ScalarOp::kTruncDiv || op == ScalarOp::kFloorDiv;
  std::string zero = ops.integer(0);
  std::string one = ops.integer(1);
  std::string by_zero = ops.icmp("eq", b, zero);
  std::string divisor = ops.select(by_zero, one, b);
  std::string dividend = quotient ? ops.select(by_zero, zero, a) : a;
  if (!is_signed) return ops.binary(quotient ? "udiv" : "urem", dividend, divisor);
  // x / -1 is -x, also for the lowest integer, where the instruction would trap.
  std::string minus = ops.icmp("eq", b, ops.integer(-1));
  divisor = ops.select(minus, one, divisor);
  std::string negated = ops.binary("sub", zero, a);
  std::string q = ops.binary("sdiv", dividend, divisor);
  if (op == ScalarOp::kTruncDiv) return ops.select(minus, negated, q);
  std::string r = ops.binary("sub", dividend, ops.binary("mul", q, divisor));
  if (op == ScalarOp::kFmod) return r;
  Ops bools = ops.with(DType::kBool);
  std::string opposite = ops.icmp("slt", ops.binary("xor", r, divisor), zero);
  std::string adjust = bools.binary("and", ops.icmp("ne", r, zero), opposite);
  if (op == ScalarOp::kRemainder) return ops.binary("add", r, ops.select(adjust, divisor, zero));
  std::string lower = ops.binary("sub", q, ops.select(adjust, one, zero));
  return ops.select(minus, negated, lower);
}

std::string shift(Ops& ops, ScalarOp op, const std::string& a, const std::string& b) {
  std::int64_t bits = ir::dtype_bytes(ops.dtype()) * 8;
  std::string inside = ops.icmp("ult", b, ops.integer(bits));
  if (op == ScalarOp::kShiftRight && ir::is_signed(ops.dtype())) {
    return ops.binary("ashr", a, ops.select(inside, b, ops.integer(bits - 1)));
  }
  std::string count = ops.select(inside, b, ops.integer(0));
  std::string shifted = ops.binary(op == ScalarOp::kShiftLeft ? "shl" : "lshr", a, count);
  return ops.select(inside, shifted, ops.integer(0));
}

// By repeated squaring, wrapping, as long as any lane has bits of its exponent left: a function of
// the module.
std::string power_function(Ops& ops) {
  std::string name = cat("integer_pow.", mangled(ops.dtype(), ops.lanes()));
  const std::string& type = ops.type();
  std::string bits = vector_type("i1", ops.lanes());
  std::string any = ops.lanes() == 1
                        ? std::string("  %go = icmp ne ") + type + " %left.next, 0\n"
                        : cat("  %some = icmp ne ", type, " %left.next, zeroinitializer\n",
                              "  %packed = bitcast ", bits, " %some to i", num(ops.lanes()), "\n",
                              "  %go = icmp ne i", num(ops.lanes()), " %packed, 0\n");
  std::string one = ops.integer(1);
  std::string zero = ops.integer(0);
  ops.code().helper(
      name,
      cat("define internal ", type, " @", name, "(", type, " %base, ", type, " %exponent) #0 {\n",
          "entry:\n  br label %step\nstep:\n", "  %result = phi ", type, " [ ", one,
          ", %entry ], [ %result.next, %step ]\n", "  %square = phi ", type,
          " [ %base, %entry ], [ %square.next, %step ]\n", "  %left = phi ", type,
          " [ %exponent, %entry ], [ %left.next, %step ]\n", "  %low = and ", type, " %left, ", one,
          "\n", "  %odd = icmp ne ", type, " %low, ", zero, "\n", "  %product = mul ", type,
          " %result, %square\n", "  %result.next = select ", bits, " %odd, ", type, " %product, ",
          type, " %result\n", "  %square.next = mul ", type, " %square, %square\n",
          "  %left.next = lshr ", type, " %left, ", one, "\n", any,
          "  br i1 %go, label %step, label %done\ndone:\n  ret ", type, " %result.next\n}\n"));
  return name;
}

// Negative exponents give 0, except of 1 and -1.
std::string integer_power(Ops& ops, const std::string& base, const std::string& exponent) {
  std::string one = ops.integer(1);
  std::string zero = ops.integer(0);
  std::string result = ops.def(cat("call ", ops.type(), " @", power_function(ops), "(", ops.type(),
                                   " ", base, ", ", ops.type(), " ", exponent, ")"));
  if (!ir::is_signed(ops.dtype())) return result;
  std::string odd = ops.icmp("ne", ops.binary("and", exponent, one), zero);
  std::string minus = ops.integer(-1);
  std::string of_minus = ops.select(odd, minus, one);
  std::string rest = ops.select(ops.icmp("eq", base, minus), of_minus, zero);
  std::string inverse = ops.select(ops.icmp("eq", base, one), one, rest);
  return ops.select(ops.icmp("slt", exponent, zero), inverse, result);
}

std::string integer_op(Ops& ops, ScalarOp op, const std::vector<std::string>& x) {
  bool is_bool = ops.dtype() == DType::kBool;
  bool is_signed = ir::is_signed(ops.dtype());
  switch (op) {
    case ScalarOp::kAdd:
      return ops.binary(is_bool ? "or" : "add", x[0], x[1]);
    case ScalarOp::kSub:
      return ops.binary("sub", x[0], x[1]);
    case ScalarOp::kMul:
      return ops.binary(is_bool ? "and" : "mul", x[0], x[1]);
    case ScalarOp::kFma:
      return ops.binary("add", ops.binary("mul", x[0], x[1]), x[2]);
    case ScalarOp::kFloorDiv:
    case ScalarOp::kTruncDiv:
    case ScalarOp::kRemainder:
    case ScalarOp::kFmod:
      return integer_divide(ops, op, x[0], x[1]);
    case ScalarOp::kPow:
      return integer_power(ops, x[0], x[1]);
    case ScalarOp::kNeg:
      return ops.binary("sub", ops.integer(0), x[0]);
    case ScalarOp::kAbs: {
      if (!is_signed) return x[0];
      std::string negative = ops.icmp("slt", x[0], ops.integer(0));
      return ops.select(negative, ops.binary("sub", ops.integer(0), x[0]), x[0]);
    }
    case ScalarOp::kSign: {
      if (is_bool) return x[0];
      std::string positive = ops.icmp(is_signed ? "sgt" : "ne", x[0], ops.integer(0));
      std::string result = ops.select(positive, ops.integer(1), ops.integer(0));
      if (!is_signed) return result;
      return ops.select(ops.icmp("slt", x[0], ops.integer(0)), ops.integer(-1), result);
    }
    case ScalarOp::kMin:
    case ScalarOp::kFmin:
      return min_max(ops, false, x[0], x[1]);
    case ScalarOp::kMax:
    case ScalarOp::kFmax:
      return min_max(ops, true, x[0], x[1]);
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRound:
      return x[0];
    case ScalarOp::kBitAnd:
      return ops.binary("and", x[0], x[1]);
    case ScalarOp::kBitOr:
      return ops.binary("or", x[0], x[1]);
    case ScalarOp::kBitXor:
      return ops.binary("xor", x[0], x[1]);
    case ScalarOp::kBitNot:
      return ops.binary("xor", x[0],
                        is_bool ? all(DType::kBool, "true", ops.lanes()) : ops.integer(-1));
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return shift(ops, op, x[0], x[1]);
    default:
      TRIPTYCH_UNREACHABLE(cat(loops::info(op).name, " of integers"));
  }
}

std::string remainder_of_floats(Ops& ops, const mapping::Traits& traits, const std::string& a,
                                const std::string& b, std::string* fmod) {
  *fmod = math_function(ops, traits, ScalarOp::kFmod, {a, b});
  Ops bools = ops.with(DType::kBool);
  std::string zero = ops.constant(0);
  std::string opposite =
      bools.binary("xor", ops.fcmp("olt", b, zero), ops.fcmp("olt", *fmod, zero));
  return bools.binary("and", opposite, ops.fcmp("une", *fmod, zero));
}

// As c10::div_floor_floating.
std::string floor_divide(Ops& ops, const mapping::Traits& traits, const std::string& a,
                         const std::string& b) {
  Ops bools = ops.with(DType::kBool);
  std::string zero = ops.constant(0);
  std::string fmod;
  std::string adjust = remainder_of_floats(ops, traits, a, b, &fmod);
  std::string exact = ops.div(ops.binary("fsub", a, fmod), b);
  std::string quotient = ops.select(adjust, ops.binary("fsub", exact, ops.constant(1)), exact);
  std::string floor = ops.intrinsic("llvm.floor", {quotient});
  std::string above = ops.fcmp("ogt", ops.binary("fsub", quotient, floor), ops.constant(0.5));
  std::string rounded = ops.select(above, ops.binary("fadd", floor, ops.constant(1)), floor);
  std::string plain = ops.div(a, b);
  std::string signed_zero = ops.intrinsic("llvm.copysign", {zero, plain});
  std::string result = ops.select(ops.fcmp("oeq", quotient, zero), signed_zero, rounded);
  return ops.select(ops.fcmp("oeq", b, zero), plain, result);
}

std::string sign_of_float(Ops& ops, const std::string& x) {
  std::string zero = ops.constant(0);
  std::string positive = ops.select(ops.fcmp("ogt", x, zero), ops.constant(1), zero);
  return ops.select(ops.fcmp("olt", x, zero), ops.constant(-1), positive);
}

std::string float_op(Ops& ops, const mapping::Traits& traits, ScalarOp op,
                     const std::vector<std::string>& x) {
  switch (op) {
    case ScalarOp::kAdd:
      return ops.add(x[0], x[1]);
    case ScalarOp::kSub:
      return ops.sub(x[0], x[1]);
    case ScalarOp::kMul:
      return ops.mul(x[0], x[1]);
    case ScalarOp::kDiv:
      return ops.div(x[0], x[1]);
    case ScalarOp::kFloorDiv:
      return floor_divide(ops, traits, x[0], x[1]);
    case ScalarOp::kTruncDiv:
      return ops.intrinsic("llvm.trunc", {ops.div(x[0], x[1])});
    case ScalarOp::kRemainder: {
      std::string fmod;
      std::string adjust = remainder_of_floats(ops, traits, x[0], x[1], &fmod);
      return ops.select(adjust, ops.binary("fadd", fmod, x[1]), fmod);
    }
    case ScalarOp::kNeg:
      return ops.neg(x[0]);
    case ScalarOp::kAbs:
      return ops.abs(x[0]);
    case ScalarOp::kSign:
      return sign_of_float(ops, x[0]);
    case ScalarOp::kReciprocal:
      return ops.div(ops.constant(1), x[0]);
    case ScalarOp::kRsqrt:
      return ops.div(ops.constant(1), ops.intrinsic("llvm.sqrt", {x[0]}));
    case ScalarOp::kFma:
      return ops.fma(x[0], x[1], x[2]);
    case ScalarOp::kMin:
      return min_max(ops, false, x[0], x[1]);
    case ScalarOp::kMax:
      return min_max(ops, true, x[0], x[1]);
    case ScalarOp::kFmin:
    case ScalarOp::kFmax: {
      std::string better = ops.fcmp(op == ScalarOp::kFmin ? "olt" : "ogt", x[1], x[0]);
      std::string chosen = ops.select(better, x[1], x[0]);
      return ops.select(ops.fcmp("uno", x[0], x[0]), x[1], chosen);
    }
    case ScalarOp::kFloor:
      return ops.intrinsic("llvm.floor", {x[0]});
    case ScalarOp::kCeil:
      return ops.intrinsic("llvm.ceil", {x[0]});
    case ScalarOp::kTrunc:
      return ops.intrinsic("llvm.trunc", {x[0]});
    case ScalarOp::kRound:
      return ops.intrinsic("llvm.roundeven", {x[0]});
    case ScalarOp::kSqrt:
      return ops.intrinsic("llvm.sqrt", {x[0]});
    case ScalarOp::kCopysign:
      return ops.intrinsic("llvm.copysign", {x[0], x[1]});
    default:
      return math_function(ops, traits, op, x);
  }
}

std::string_view float_predicate(ScalarOp op) {
  switch (op) {
    case ScalarOp::kEq:
      return "oeq";
    case ScalarOp::kNe:
      return "une";
    case ScalarOp::kLt:
      return "olt";
    case ScalarOp::kLe:
      return "ole";
    case ScalarOp::kGt:
      return "ogt";
    default:
      return "oge";
  }
}

std::string_view integer_predicate(ScalarOp op, bool is_signed) {
  switch (op) {
    case ScalarOp::kEq:
      return "eq";
    case ScalarOp::kNe:
      return "ne";
    case ScalarOp::kLt:
      return is_signed ? "slt" : "ult";
    case ScalarOp::kLe:
      return is_signed ? "sle" : "ule";
    case ScalarOp::kGt:
      return is_signed ? "sgt" : "ugt";
    default:
      return is_signed ? "sge" : "uge";
  }
}

std::string truth(Ops& ops, const std::string& value) {
  if (ops.dtype() == DType::kBool) return value;
  if (ir::is_floating(ops.dtype())) return ops.fcmp("une", value, ops.constant(0));
  return ops.icmp("ne", value, ops.integer(0));
}

std::string sign_bit(Ops& ops, const std::string& value) {
  if (!ir::is_floating(ops.dtype())) {
    if (!ir::is_signed(ops.dtype())) return all(DType::kBool, "false", ops.lanes());
    return ops.icmp("slt", value, ops.integer(0));
  }
  Ops bits = ops.with(ops.dtype() == DType::kF64 ? DType::kI64 : DType::kI32);
  std::string raw = ops.convert("bitcast", value, bits.dtype());
  return bits.icmp("slt", raw, bits.integer(0));
}

// Results of bool; `ops` has the operands' dtype.
std::string predicate(Ops& ops, ScalarOp op, const std::vector<std::string>& x) {
  bool floating = ir::is_floating(ops.dtype());
  Ops bools = ops.with(DType::kBool);
  switch (op) {
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe:
      return floating ? ops.fcmp(float_predicate(op), x[0], x[1])
                      : ops.icmp(integer_predicate(op, ir::is_signed(ops.dtype())), x[0], x[1]);
    case ScalarOp::kIsNan:
      return floating ? ops.fcmp("uno", x[0], x[0]) : all(DType::kBool, "false", ops.lanes());
    case ScalarOp::kIsInf:
      if (!floating) return all(DType::kBool, "false", ops.lanes());
      return ops.fcmp("oeq", ops.abs(x[0]), ops.constant(std::numeric_limits<double>::infinity()));
    case ScalarOp::kSignbit:
      return sign_bit(ops, x[0]);
    case ScalarOp::kLogicalAnd:
      return bools.binary("and", truth(ops, x[0]), truth(ops, x[1]));
    case ScalarOp::kLogicalOr:
      return bools.binary("or", truth(ops, x[0]), truth(ops, x[1]));
    case ScalarOp::kLogicalXor:
      return bools.binary("xor", truth(ops, x[0]), truth(ops, x[1]));
    case ScalarOp::kLogicalNot:
      return not_i1(bools, truth(ops, x[0]));
    default:
      TRIPTYCH_UNREACHABLE(cat(loops::info(op).name, " is no predicate"));
  }
}

}  // namespace

std::string min_max(Ops& ops, bool max, const std::string& a, const std::string& b) {
  if (ops.dtype() == DType::kBool) return ops.binary(max ? "or" : "and", a, b);
  if (!ir::is_floating(ops.dtype())) {
    bool is_signed = ir::is_signed(ops.dtype());
    return ops.intrinsic(cat("llvm.", is_signed ? "s" : "u", max ? "max" : "min"), {a, b});
  }
  // One maxps (it returns a when the comparison fails, so a NaN in a stays, and a zero in a beside
  // one of the other sign), then a NaN in b: none when b is a literal, as in relu.
  std::string better = ops.select(ops.fcmp(max ? "ogt" : "olt", b, a), b, a);
  if (const auto value = literal_value(b)) return std::isnan(*value) ? b : better;
  return ops.select(ops.fcmp("uno", b, b), b, better);
}

std::string cast(Code& code, const mapping::Traits& traits, const Operand& value, DType to,
                 int level) {
  DType from = value.dtype;
  if (from == to) return value.text;
  Ops ops(code, from, value.lanes, level);
  auto via = [&](DType middle) {
    Operand step = value;
    step.dtype = middle;
    step.text = cast(code, traits, value, middle, level);
    return cast(code, traits, step, to, level);
  };
  bool half_from = loops::is_half(from);
  bool half_to = loops::is_half(to);
  if (half_from && to != DType::kF32) return via(DType::kF32);
  if (half_to && from != DType::kF32) return via(DType::kF32);
  if (to == DType::kBool) return truth(ops, value.text);
  if (ir::is_floating(from) && ir::is_floating(to)) {
    if (ir::dtype_bytes(from) < ir::dtype_bytes(to)) return ops.convert("fpext", value.text, to);
    if (to == DType::kBF16 && !traits.bf16_convert)
      return bf16_by_integers(ops, value.text, value.is_bf16);
    return ops.convert("fptrunc", value.text, to);
  }
  if (ir::is_floating(from)) return float_to_integer(ops, value.text, to);
  if (ir::is_floating(to))
    return ops.convert(ir::is_signed(from) ? "sitofp" : "uitofp", value.text, to);
  if (from == DType::kBool) return ops.convert("zext", value.text, to);
  int change = ir::dtype_bytes(to) - ir::dtype_bytes(from);
  if (change == 0) return value.text;
  return ops.convert(change < 0 ? "trunc" : ir::is_signed(from) ? "sext" : "zext", value.text, to);
}

std::string scalar_op(Code& code, const mapping::Traits& traits, ScalarOp op, DType dtype,
                      const std::vector<Operand>& args, int lanes, int level) {
  std::vector<std::string> texts;
  for (const Operand& arg : args) texts.push_back(arg.text);
  if (op == ScalarOp::kCast) return cast(code, traits, args[0], dtype, level);
  Ops result(code, dtype, lanes, level);
  if (op == ScalarOp::kSelect) return result.select(texts[0], texts[1], texts[2]);
  Ops operand(code, args[0].dtype, lanes, level);
  if (op == ScalarOp::kBitcast) {
    return register_type(args[0].dtype, 1) == register_type(dtype, 1)
               ? texts[0]
               : operand.convert("bitcast", texts[0], dtype);
  }
  if (loops::info(op).bool_result) return predicate(operand, op, texts);
  if (ir::is_floating(dtype)) return float_op(result, traits, op, texts);
  return integer_op(result, op, texts);
}

}  // namespace triptych::writers::llvm
