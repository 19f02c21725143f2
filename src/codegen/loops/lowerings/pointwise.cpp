// Pointwise ops: the op table's expression around loops over the result.
#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/loops/lowerings/lowering.h"
#include "codegen/loops/scalar_eval.h"

namespace triptych::loops {
namespace {

using Kind = ExpressionNode::Kind;

// What an expression node is while lowering: a literal, or a scalar of the kernel.
using Operand = std::variant<ir::None, bool, std::int64_t, double, std::string, ScalarId>;

bool is_literal(const Operand& operand) { return !std::holds_alternative<ScalarId>(operand); }

std::optional<double> as_number(const Operand& operand) {
  if (const auto* truth = std::get_if<bool>(&operand)) return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&operand))
    return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&operand)) return *number;
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const Operand& operand) {
  if (const auto* truth = std::get_if<bool>(&operand)) return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&operand)) return *integer;
  return std::nullopt;
}

std::int64_t wrapping(ScalarOp op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(op == ScalarOp::kAdd   ? x + y
                                   : op == ScalarOp::kSub ? x - y
                                                          : x * y);
}

std::optional<Operand> fold_arithmetic(ScalarOp op, const Operand& left, const Operand& right) {
  const auto a = as_number(left);
  const auto b = as_number(right);
  if (!a || !b) return std::nullopt;
  const auto x = as_integer(left);
  const auto y = as_integer(right);
  switch (op) {
    case ScalarOp::kAdd:
      return x && y ? Operand(wrapping(op, *x, *y)) : Operand(*a + *b);
    case ScalarOp::kSub:
      return x && y ? Operand(wrapping(op, *x, *y)) : Operand(*a - *b);
    case ScalarOp::kMul:
      return x && y ? Operand(wrapping(op, *x, *y)) : Operand(*a * *b);
    case ScalarOp::kDiv:
      return Operand(*a / *b);
    case ScalarOp::kEq:
      return Operand(*a == *b);
    case ScalarOp::kNe:
      return Operand(*a != *b);
    case ScalarOp::kLt:
      return Operand(*a < *b);
    case ScalarOp::kLe:
      return Operand(*a <= *b);
    case ScalarOp::kGt:
      return Operand(*a > *b);
    case ScalarOp::kGe:
      return Operand(*a >= *b);
    default:
      return std::nullopt;
  }
}

// op over literals only, where it is one of the operations that conditions and coefficients are
// made of.
std::optional<Operand> fold(ScalarOp op, std::span<const Operand> args) {
  for (const Operand& arg : args) {
    if (!is_literal(arg)) return std::nullopt;
  }
  if (op == ScalarOp::kEq || op == ScalarOp::kNe) {
    const bool names = std::holds_alternative<std::string>(args[0]) ||
                       std::holds_alternative<std::string>(args[1]);
    if (names) return Operand((args[0] == args[1]) == (op == ScalarOp::kEq));
  }
  if (op == ScalarOp::kNeg) {
    if (const auto x = as_integer(args[0])) return Operand(wrapping(ScalarOp::kSub, 0, *x));
    if (const auto a = as_number(args[0])) return Operand(-*a);
    return std::nullopt;
  }
  const auto truth = [&](std::size_t i) { return std::get_if<bool>(&args[i]); };
  if (op == ScalarOp::kLogicalNot && truth(0) != nullptr) return Operand(!*truth(0));
  if (args.size() != 2) return std::nullopt;
  if (truth(0) != nullptr && truth(1) != nullptr) {
    if (op == ScalarOp::kLogicalAnd) return Operand(*truth(0) && *truth(1));
    if (op == ScalarOp::kLogicalOr) return Operand(*truth(0) || *truth(1));
  }
  return fold_arithmetic(op, args[0], args[1]);
}

bool is_logical(ScalarOp op) {
  return op == ScalarOp::kLogicalAnd || op == ScalarOp::kLogicalOr || op == ScalarOp::kLogicalXor ||
         op == ScalarOp::kLogicalNot;
}
bool is_comparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }
bool is_integer_division(ScalarOp op) {
  return op == ScalarOp::kFloorDiv || op == ScalarOp::kTruncDiv || op == ScalarOp::kRemainder ||
         op == ScalarOp::kFmod;
}

// The largest finite value of a floating dtype.
double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504.0;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF32:
      return 0x1.fffffep127;
    default:
      return 0x1.fffffffffffffp1023;
  }
}

class Emitter {
 public:
  Emitter(LoweringContext& context, const Expression& expression, std::span<const SymExpr> index,
          DType storage, std::string_view exact)
      : context_(context),
        builder_(context.builder),
        expression_(expression),
        index_(index),
        storage_(storage),
        exact_(exact),
        compute_(arithmetic_dtype(storage)) {}

  Result<ScalarId> run() {
    TRIPTYCH_TRY(const Operand root, evaluate(expression_.root()));
    if (const auto* scalar = std::get_if<ScalarId>(&root)) return *scalar;
    return numeric(root);
  }

 private:
  Result<Operand> evaluate(int at) {
    const ExpressionNode& node = expression_.nodes[static_cast<std::size_t>(at)];
    switch (node.kind) {
      case Kind::kInt:
        return Operand(node.integer);
      case Kind::kFloat:
        return Operand(node.number);
      case Kind::kString:
        return Operand(node.text);
      case Kind::kGiven:
        return Operand(context_.given(node.text));
      case Kind::kName:
        return name(node.text);
      case Kind::kConditional:
        return conditional(node);
      case Kind::kOp:
        return operation(node);
    }
    TRIPTYCH_UNREACHABLE("expression node kind");
  }

  Result<Operand> conditional(const ExpressionNode& node) {
    TRIPTYCH_TRY(const Operand condition, evaluate(node.args[0]));
    const auto* truth = std::get_if<bool>(&condition);
    if (truth == nullptr)
      return not_lowered("a condition of the expression is not known while lowering");
    return evaluate(*truth ? node.args[1] : node.args[2]);
  }

  Result<Operand> name(const std::string& name) {
    if (const ir::Argument* found = context_.find_arg(name)) return argument(name, *found);
    if (name == "inf") return Operand(HUGE_VAL);
    if (name == "nan") return Operand(std::nan(""));
    if (name == "true") return Operand(true);
    if (name == "false") return Operand(false);
    if (name == "float16") return Operand(storage_ == DType::kF16);
    if (name == "floating") return Operand(ir::is_floating(compute_));
    if (name == "largest") return Operand(largest_finite(storage_));
    return not_lowered("the expression reads '" + name + "', which is no argument");
  }

  Result<Operand> argument(const std::string& name, const ir::Argument& found) {
    if (found.is_none()) return Operand(ir::None());
    const bool round = rounds(name);
    if (const auto* value = found.get_if<ValueId>()) return value_operand(*value, round);
    if (const auto* truth = found.get_if<bool>()) return Operand(*truth);
    if (const auto* integer = found.get_if<std::int64_t>()) return literal(*integer, round);
    if (const auto* number = found.get_if<double>()) return literal(*number, round);
    if (const auto* text = found.get_if<std::string>()) return Operand(*text);
    if (const auto* size = found.get_if<SymExpr>()) return symbolic(*size, round);
    return not_lowered("argument '" + name + "' is no real number or tensor");
  }

  // Eager converts a number, or a tensor of another dtype, to the dtype of the tensors before it
  // computes, unless its kernel takes the number in float32.
  bool rounds(std::string_view name) const {
    if (compute_ == storage_ || exact_ == kAllExact) return false;
    for (std::string_view rest = exact_; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (rest.substr(0, end) == name) return false;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return true;
  }

  Operand literal(const Operand& number, bool round) const {
    const double given = *as_number(number);
    const double kept = round ? rounded(given, storage_) : given;
    return kept == given ? number : Operand(kept);
  }

  ScalarId rounded_scalar(ScalarId scalar) {
    return builder_.cast(builder_.rounding_cast(scalar, storage_), compute_);
  }

  Operand symbolic(const SymExpr& size, bool round) {
    if (const auto constant = size.as_constant()) return literal(*constant, round);
    const ScalarId value = builder_.index_value(size);
    return Operand(round ? rounded_scalar(value) : value);
  }

  Result<Operand> value_operand(ValueId value, bool round) {
    const ir::ValueType& type = context_.graph.value(value).type;
    if (const auto* scalar = std::get_if<ir::ScalarValueType>(&type)) {
      if (scalar->expr) return symbolic(*scalar->expr, round);
      return not_lowered("a number that is only known at run time");
    }
    const auto* tensor = std::get_if<ir::TensorType>(&type);
    if (tensor == nullptr) return not_lowered("an operand is no tensor");
    const ScalarId loaded = builder_.load(value, broadcast_index(index_, *tensor));
    const bool differs =
        compute_ != storage_ && tensor->dtype != storage_ && tensor->dtype != DType::kBool;
    return Operand(differs && (round || !tensor->sizes.empty()) ? rounded_scalar(loaded) : loaded);
  }

  Result<ScalarId> numeric(const Operand& operand) { return converted(operand, compute_); }
  Result<ScalarId> truth(const Operand& operand) { return converted(operand, DType::kBool); }

  Result<ScalarId> converted(const Operand& operand, DType dtype) {
    if (const auto* scalar = std::get_if<ScalarId>(&operand)) return builder_.cast(*scalar, dtype);
    if (const auto integer = as_integer(operand)) return builder_.constant_int(dtype, *integer);
    const auto number = as_number(operand);
    if (!number) return not_lowered("an operand of the expression is not given");
    const bool fits = *number >= -0x1p63 && *number < 0x1p63;
    if (ir::is_integral(dtype, false) && !fits)
      return not_lowered("a number does not fit the integer dtype");
    return builder_.constant(dtype, *number);
  }

  Result<Operand> operation(const ExpressionNode& node) {
    const auto arity = static_cast<std::size_t>(info(node.op).arity);
    std::array<Operand, 3> storage;
    for (std::size_t i = 0; i < arity; ++i) {
      TRIPTYCH_TRY(storage[i], evaluate(node.args[i]));
    }
    const std::span<const Operand> args(storage.data(), arity);
    if (auto folded = fold(node.op, args)) return *std::move(folded);
    if (node.op == ScalarOp::kSelect) return select(args);
    if (is_logical(node.op)) return logical(node.op, args);
    if (is_comparison(node.op)) return comparison(node.op, args);
    const bool rounds_quotient = compute_ != storage_ && args.size() == 2 && !is_literal(args[1]) &&
                                 !has_one_element(node.args[1]);
    if (node.op == ScalarOp::kTruncDiv && compute_ != storage_)
      return half_trunc_div(args, rounds_quotient);
    if (node.op == ScalarOp::kFloorDiv && rounds_quotient) return half_floor_div(args);
    return arithmetic(node.op, args);
  }

  bool is_truth(const Operand& operand) const {
    if (const auto* scalar = std::get_if<ScalarId>(&operand))
      return builder_.dtype(*scalar) == DType::kBool;
    return std::holds_alternative<bool>(operand);
  }

  Result<Operand> select(std::span<const Operand> args) {
    TRIPTYCH_TRY(const ScalarId condition, truth(args[0]));
    const DType dtype = is_truth(args[1]) && is_truth(args[2]) ? DType::kBool : compute_;
    TRIPTYCH_TRY(const ScalarId if_true, converted(args[1], dtype));
    TRIPTYCH_TRY(const ScalarId if_false, converted(args[2], dtype));
    return Operand(builder_.select(condition, if_true, if_false));
  }

  // A number is converted like any other operand first, which may make it zero.
  Result<ScalarId> truth_of_operand(const Operand& operand) {
    if (is_truth(operand)) return truth(operand);
    TRIPTYCH_TRY(const ScalarId number, numeric(operand));
    return truth(Operand(number));
  }

  Result<Operand> logical(ScalarOp op, std::span<const Operand> args) {
    TRIPTYCH_TRY(const ScalarId first, truth_of_operand(args[0]));
    if (op == ScalarOp::kLogicalNot) return Operand(builder_.unary(op, first));
    TRIPTYCH_TRY(const ScalarId second, truth_of_operand(args[1]));
    return Operand(builder_.binary(op, first, second));
  }

  Result<Operand> comparison(ScalarOp op, std::span<const Operand> args) {
    TRIPTYCH_TRY(ScalarId first, numeric(args[0]));
    TRIPTYCH_TRY(ScalarId second, numeric(args[1]));
    if (compute_ == DType::kBool) {
      first = builder_.cast(first, DType::kU8);
      second = builder_.cast(second, DType::kU8);
    }
    return Operand(builder_.binary(op, first, second));
  }

  Result<Operand> arithmetic(ScalarOp op, std::span<const Operand> args) {
    std::array<ScalarId, 3> ids;
    for (std::size_t i = 0; i < args.size(); ++i) {
      TRIPTYCH_TRY(ids[i], numeric(args[i]));
    }
    if (compute_ != storage_) {
      if (op == ScalarOp::kNextafter) return not_lowered("nextafter of a 16-bit float");
    }
    if (compute_ == DType::kBool) return bool_arithmetic(op, ids);
    if (!ir::is_floating(compute_)) {
      if (op == ScalarOp::kIsNan || op == ScalarOp::kIsInf) return Operand(false);
      if (op == ScalarOp::kSignbit) return signbit_of_integer(ids[0]);
      if (op == ScalarOp::kFmin) op = ScalarOp::kMin;
      if (op == ScalarOp::kFmax) op = ScalarOp::kMax;
      if (op == ScalarOp::kAbs && !ir::is_signed(compute_)) return Operand(ids[0]);
      if (info(op).floats_only) {
        return not_lowered(std::string(info(op).name) + " of integers");
      }
      if (is_integer_division(op)) {
        const ScalarId zero = builder_.constant_int(compute_, 0);
        builder_.check(builder_.binary(ScalarOp::kNe, ids[1], zero), Check::Code::kDivisionByZero);
      }
    } else if (op == ScalarOp::kBitAnd || op == ScalarOp::kBitOr || op == ScalarOp::kBitXor ||
               op == ScalarOp::kBitNot || op == ScalarOp::kShiftLeft ||
               op == ScalarOp::kShiftRight) {
      return not_lowered(std::string(info(op).name) + " of floats");
    }
    const DType dtype = info(op).bool_result ? DType::kBool : compute_;
    return Operand(builder_.emit(op, dtype, std::span<const ScalarId>(ids.data(), args.size())));
  }

  // Eager rounds the quotient of 16-bit floats before it truncates; not so with a divisor that is a
  // number or has one element, where it computes in float32.
  Result<Operand> half_trunc_div(std::span<const Operand> args, bool rounds_quotient) {
    TRIPTYCH_TRY(const ScalarId a, numeric(args[0]));
    TRIPTYCH_TRY(const ScalarId b, numeric(args[1]));
    const ScalarId quotient = builder_.binary(ScalarOp::kDiv, a, b);
    return Operand(
        builder_.unary(ScalarOp::kTrunc, rounds_quotient ? rounded_scalar(quotient) : quotient));
  }

  // The multiple of b below a, over b, then rounded to an integer: with 16-bit floats eager rounds
  // after each step, again not with such a divisor.
  Result<Operand> half_floor_div(std::span<const Operand> args) {
    TRIPTYCH_TRY(const ScalarId a, numeric(args[0]));
    TRIPTYCH_TRY(const ScalarId b, numeric(args[1]));
    const auto step = [&](ScalarOp op, ScalarId x, ScalarId y) {
      return rounded_scalar(builder_.binary(op, x, y));
    };
    const auto compared = [&](ScalarOp op, ScalarId x, double y) {
      return builder_.binary(op, x, builder_.constant(compute_, y));
    };
    const ScalarId rest = builder_.binary(ScalarOp::kFmod, a, b);
    const ScalarId whole = step(ScalarOp::kDiv, step(ScalarOp::kSub, a, rest), b);
    const ScalarId below =
        builder_.binary(ScalarOp::kLogicalAnd, compared(ScalarOp::kNe, rest, 0),
                        builder_.binary(ScalarOp::kLogicalXor, compared(ScalarOp::kLt, b, 0),
                                        compared(ScalarOp::kLt, rest, 0)));
    const ScalarId one = builder_.constant(compute_, 1);
    const ScalarId quotient = builder_.select(below, step(ScalarOp::kSub, whole, one), whole);
    const ScalarId floored = builder_.unary(ScalarOp::kFloor, quotient);
    const ScalarId cut = step(ScalarOp::kSub, quotient, floored);
    const ScalarId nearest = builder_.select(compared(ScalarOp::kGt, cut, 0.5),
                                             step(ScalarOp::kAdd, floored, one), floored);
    const ScalarId exact = builder_.binary(ScalarOp::kDiv, a, b);
    const ScalarId zero =
        builder_.binary(ScalarOp::kCopysign, builder_.constant(compute_, 0), exact);
    const ScalarId result = builder_.select(compared(ScalarOp::kEq, quotient, 0), zero, nearest);
    return Operand(builder_.select(compared(ScalarOp::kEq, b, 0), exact, result));
  }

  // The node names a tensor of one element.
  bool has_one_element(int at) const {
    const ExpressionNode& node = expression_.nodes[static_cast<std::size_t>(at)];
    const ir::Argument* found = node.kind == Kind::kName ? context_.find_arg(node.text) : nullptr;
    const auto* value = found == nullptr ? nullptr : found->get_if<ValueId>();
    if (value == nullptr) return false;
    const auto* tensor = std::get_if<ir::TensorType>(&context_.graph.value(*value).type);
    return tensor != nullptr && std::all_of(tensor->sizes.begin(), tensor->sizes.end(),
                                            [](const SymExpr& n) { return n == SymExpr(1); });
  }

  Operand signbit_of_integer(ScalarId scalar) {
    if (!ir::is_signed(compute_)) return Operand(false);
    return Operand(builder_.binary(ScalarOp::kLt, scalar, builder_.constant_int(compute_, 0)));
  }

  // Arithmetic of bools as eager has it: + is or, * is and; what eager refuses stays external,
  // where it raises.
  Result<Operand> bool_arithmetic(ScalarOp op, std::span<const ScalarId> ids) {
    switch (op) {
      case ScalarOp::kAdd:
      case ScalarOp::kMax:
      case ScalarOp::kFmax:
      case ScalarOp::kBitOr:
        return Operand(builder_.binary(ScalarOp::kLogicalOr, ids[0], ids[1]));
      case ScalarOp::kMul:
      case ScalarOp::kMin:
      case ScalarOp::kFmin:
      case ScalarOp::kBitAnd:
        return Operand(builder_.binary(ScalarOp::kLogicalAnd, ids[0], ids[1]));
      case ScalarOp::kBitXor:
        return Operand(builder_.binary(ScalarOp::kLogicalXor, ids[0], ids[1]));
      case ScalarOp::kBitNot:
        return Operand(builder_.unary(ScalarOp::kLogicalNot, ids[0]));
      case ScalarOp::kAbs:
      case ScalarOp::kSign:
        return Operand(ids[0]);
      case ScalarOp::kIsNan:
      case ScalarOp::kIsInf:
      case ScalarOp::kSignbit:
        return Operand(false);
      default:
        return not_lowered(std::string(info(op).name) + " of bools");
    }
  }

  LoweringContext& context_;
  Builder& builder_;
  const Expression& expression_;
  std::span<const SymExpr> index_;
  DType storage_;
  std::string_view exact_;
  DType compute_;
};

int category(DType dtype) { return ir::is_floating(dtype) ? 2 : dtype == DType::kBool ? 0 : 1; }

std::optional<DType> join(std::optional<DType> a, std::optional<DType> b) {
  return a && b ? std::optional(ir::promote(*a, *b)) : a ? a : b;
}

// As at::native::result_type: an operand of a weaker kind counts only when its category is higher.
std::optional<DType> weigh(std::optional<DType> strong, std::optional<DType> weak) {
  if (!strong || !weak || category(*strong) >= category(*weak)) return strong ? strong : weak;
  return ir::promote(*strong, *weak);
}

}  // namespace

DType promoted_dtype(const LoweringContext& context) {
  std::optional<DType> tensors, zero_dim, numbers;
  const auto visit = [&](const ir::Argument& argument) {
    if (const auto* value = argument.get_if<ValueId>()) {
      const ir::ValueType& type = context.graph.value(*value).type;
      if (const auto* tensor = std::get_if<ir::TensorType>(&type)) {
        auto& kind = tensor->sizes.empty() ? zero_dim : tensors;
        kind = join(kind, tensor->dtype);
      } else if (std::holds_alternative<ir::ScalarValueType>(type)) {
        numbers = join(numbers, DType::kI64);
      }
    }
    if (argument.is<bool>()) numbers = join(numbers, DType::kBool);
    if (argument.is<std::int64_t>() || argument.is<SymExpr>()) numbers = join(numbers, DType::kI64);
    if (argument.is<double>()) numbers = join(numbers, context.options.default_float);
  };
  for (const ir::Argument& argument : context.node.args) visit(argument);
  const auto result = weigh(tensors, weigh(zero_dim, numbers));
  return result.value_or(context.options.default_float);
}

Status lower_expression(LoweringContext& context, const Expression& expression,
                        std::string_view dtype_rule, std::string_view exact) {
  for (std::size_t i = 1; i < context.node.results.size(); ++i) {
    if (context.used(i)) return not_lowered("a pointwise op with several results");
  }
  const ir::TensorType& result = context.result_type();
  DType storage = result.dtype;
  if (dtype_rule == "first") {
    for (const ir::Argument& argument : context.node.args) {
      const auto* value = argument.get_if<ValueId>();
      if (value == nullptr) continue;
      storage = context.type(*value).dtype;
      break;
    }
  } else if (result.dtype == DType::kBool && dtype_rule != "result") {
    storage = promoted_dtype(context);
  }
  const std::vector<SymExpr> index = context.builder.open_loops(result.sizes);
  TRIPTYCH_TRY(const ScalarId value, Emitter(context, expression, index, storage, exact).run());
  context.builder.store(context.result(), index, value);
  return Unit{};
}

}  // namespace triptych::loops
