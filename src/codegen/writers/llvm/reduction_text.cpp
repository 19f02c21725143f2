#include "codegen/writers/llvm/reduction_text.h"

#include <limits>
#include <utility>

#include "codegen/writers/llvm/scalar_text.h"
#include "support/check.h"

namespace triptych::writers::llvm {

namespace {

using loops::ReduceOp;
using loops::Reduction;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_arg(ReduceOp op) { return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax; }
bool is_max(ReduceOp op) { return op == ReduceOp::kMax || op == ReduceOp::kArgMax; }

// The value that any other one beats.
std::string worst(DType dtype, bool max) {
  if (dtype == DType::kBool) return max ? "false" : "true";
  if (ir::is_floating(dtype)) return float_literal(dtype, max ? -kInfinity : kInfinity);
  if (!ir::is_signed(dtype)) return literal(dtype, std::int64_t{max ? 0 : -1});
  std::int64_t low = std::numeric_limits<std::int64_t>::min() >> (64 - 8 * ir::dtype_bytes(dtype));
  return literal(dtype, max ? low : ~low);
}

std::string first_value(const Reduction& reduction) {
  DType dtype = reduction.dtype;
  switch (reduction.op) {
    case ReduceOp::kSum:
    case ReduceOp::kWelford:
      return literal(dtype, std::int64_t{0});
    case ReduceOp::kProd:
      return literal(dtype, std::int64_t{1});
    case ReduceOp::kMin:
    case ReduceOp::kArgMin:
      return worst(dtype, false);
    case ReduceOp::kMax:
    case ReduceOp::kArgMax:
      return worst(dtype, true);
    case ReduceOp::kAny:
      return literal(dtype, false);
    case ReduceOp::kAll:
      return literal(dtype, true);
  }
  TRIPTYCH_UNREACHABLE("reduction");
}

Operand at_here(Code& code, const Operand& like, std::string text) {
  return {.text = std::move(text), .dtype = like.dtype, .lanes = like.lanes, .level = code.level()};
}

std::string combine(Ops& ops, ReduceOp op, const std::string& a, const std::string& b) {
  bool floating = ir::is_floating(ops.dtype());
  bool is_bool = ops.dtype() == DType::kBool;
  switch (op) {
    case ReduceOp::kSum:
      return floating ? ops.add(a, b) : ops.binary(is_bool ? "or" : "add", a, b);
    case ReduceOp::kProd:
      return floating ? ops.mul(a, b) : ops.binary(is_bool ? "and" : "mul", a, b);
    // The accumulator stands first: the check for NaN is of the element, off its chain.
    case ReduceOp::kMin:
      return min_max(ops, false, a, b);
    case ReduceOp::kMax:
      return min_max(ops, true, a, b);
    case ReduceOp::kAny:
      return ops.binary("or", a, b);
    case ReduceOp::kAll:
      return ops.binary("and", a, b);
    case ReduceOp::kArgMin:
    case ReduceOp::kArgMax:
    case ReduceOp::kWelford:
      break;
  }
  TRIPTYCH_UNREACHABLE("reduction of several registers");
}

// Whether `b` beats `a` by value: strictly better, or the first NaN.
std::string better(Ops& ops, bool max, const std::string& a, const std::string& b) {
  Ops bools = ops.with(DType::kBool);
  if (!ir::is_floating(ops.dtype())) {
    bool is_signed = ir::is_signed(ops.dtype());
    return ops.icmp(max ? (is_signed ? "sgt" : "ugt") : (is_signed ? "slt" : "ult"), b, a);
  }
  std::string beats = ops.fcmp(max ? "ogt" : "olt", b, a);
  std::string new_nan = bools.binary("and", ops.fcmp("uno", b, b), ops.fcmp("ord", a, a));
  return bools.binary("or", beats, new_nan);
}

Accumulator choose(Code& code, const std::string& condition, const Accumulator& yes,
                   const Accumulator& no) {
  Accumulator result;
  for (std::size_t k = 0; k < yes.size(); ++k) {
    Ops ops(code, yes[k].dtype, yes[k].lanes, code.level());
    result.push_back(at_here(code, yes[k], ops.select(condition, yes[k].text, no[k].text)));
  }
  return result;
}

// count' = count + 1; delta = x - mean; mean' = mean + delta / count'; m2' = m2 + delta (x - mean')
Accumulator welford_step(Code& code, const Accumulator& before, const Operand& x) {
  Ops ops(code, x.dtype, x.lanes, code.level());
  std::string count = ops.binary("fadd", before[2].text, ops.constant(1));
  std::string delta = ops.sub(x.text, before[0].text);
  std::string mean = ops.add(before[0].text, ops.mul(delta, ops.div(ops.constant(1), count)));
  std::string m2 = ops.add(before[1].text, ops.mul(delta, ops.sub(x.text, mean)));
  return {at_here(code, x, mean), at_here(code, x, m2), at_here(code, x, count)};
}

// Chan's formula; two empty sides stay empty.
Accumulator welford_merge(Code& code, const Accumulator& a, const Accumulator& b) {
  Ops ops(code, a[0].dtype, a[0].lanes, code.level());
  std::string count = ops.binary("fadd", a[2].text, b[2].text);
  // At least 1. Not a comparison with 0: LLVM 22 narrows that one wrongly when it knows lanes to be
  // 0.
  std::string divisor = ops.select(ops.fcmp("ogt", count, ops.constant(1)), count, ops.constant(1));
  std::string share = ops.div(b[2].text, divisor);
  std::string delta = ops.sub(b[0].text, a[0].text);
  std::string mean = ops.add(a[0].text, ops.mul(delta, share));
  std::string cross = ops.mul(ops.mul(delta, delta), ops.mul(a[2].text, share));
  std::string m2 = ops.add(ops.add(a[1].text, b[1].text), cross);
  return {at_here(code, a[0], mean), at_here(code, a[0], m2), at_here(code, a[0], count)};
}

}  // namespace

Accumulator identity(const Reduction& reduction, int lanes) {
  auto part = [&](DType dtype, const std::string& lane) {
    return Operand{.text = splat_literal(dtype, lane, lanes), .dtype = dtype, .lanes = lanes};
  };
  Operand value = part(reduction.dtype, first_value(reduction));
  if (reduction.op == ReduceOp::kWelford) return {value, value, value};
  // All values being the worst one, the first position is the answer.
  if (is_arg(reduction.op)) return {value, part(DType::kI64, "0")};
  return {value};
}

Accumulator accumulate(Code& code, const Reduction& reduction, const Accumulator& before,
                       const Operand& value, const Operand& position, const std::string& mask) {
  Ops ops(code, value.dtype, value.lanes, code.level());
  Accumulator after;
  if (reduction.op == ReduceOp::kWelford) {
    after = welford_step(code, before, value);
  } else if (is_arg(reduction.op)) {
    std::string take = better(ops, is_max(reduction.op), before[0].text, value.text);
    after = choose(code, take, {value, position}, before);
  } else {
    after = {at_here(code, value, combine(ops, reduction.op, before[0].text, value.text))};
  }
  return mask.empty() ? after : choose(code, mask, after, before);
}

Accumulator merge(Code& code, const Reduction& reduction, const Accumulator& a,
                  const Accumulator& b) {
  Ops ops(code, a[0].dtype, a[0].lanes, code.level());
  if (reduction.op == ReduceOp::kWelford) return welford_merge(code, a, b);
  if (!is_arg(reduction.op))
    return {at_here(code, a[0], combine(ops, reduction.op, a[0].text, b[0].text))};
  // Equal values, two NaNs included: the earlier position.
  Ops bools = ops.with(DType::kBool);
  Ops ints = ops.with(DType::kI64);
  bool max = is_max(reduction.op);
  std::string same = bools.binary("or", better(ops, max, a[0].text, b[0].text),
                                  better(ops, max, b[0].text, a[0].text));
  same = bools.binary("xor", same, splat_literal(DType::kBool, "true", ops.lanes()));
  std::string earlier = bools.binary("and", same, ints.icmp("slt", b[1].text, a[1].text));
  std::string take = bools.binary("or", better(ops, max, a[0].text, b[0].text), earlier);
  return choose(code, take, b, a);
}

Accumulator reduce_lanes(Code& code, const Reduction& reduction, Accumulator lanes) {
  while (lanes[0].lanes > 1) {
    int half = lanes[0].lanes / 2;
    Accumulator low, high;
    for (const Operand& part : lanes) {
      std::string type = register_type(part.dtype, part.lanes);
      auto piece = [&](int start) {
        Operand result = part;
        result.lanes = half;
        if (half == 1) {
          result.text =
              code.define(code.level(), cat("extractelement ", part.typed(), ", i64 ", num(start)));
        } else {
          result.text = code.define(code.level(), cat("shufflevector ", part.typed(), ", ", type,
                                                      " poison, ", vector_type("i32", half), " ",
                                                      iota_literal("i32", half, start, 1)));
        }
        return result;
      };
      low.push_back(piece(0));
      high.push_back(piece(half));
    }
    lanes = merge(code, reduction, low, high);
  }
  return lanes;
}

std::vector<Operand> results(Code& code, const Reduction& reduction, const Accumulator& last) {
  if (reduction.op != ReduceOp::kWelford) return last;
  Ops ops(code, last[0].dtype, last[0].lanes, code.level());
  std::string empty = ops.fcmp("oeq", last[2].text, ops.constant(0));
  std::string nan = ops.constant(std::numeric_limits<double>::quiet_NaN());
  return {at_here(code, last[0], ops.select(empty, nan, last[0].text)), last[1]};
}

}  // namespace triptych::writers::llvm
