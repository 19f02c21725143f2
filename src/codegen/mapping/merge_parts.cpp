#include "codegen/mapping/merge_parts.h"

#include <limits>
#include <utility>

namespace triptych::mapping {
namespace {

using loops::Body;
using loops::BufferId;
using loops::Instruction;
using loops::Kernel;
using loops::Loop;
using loops::ReduceOp;
using loops::Reduction;
using loops::ScalarId;
using loops::ScalarOp;
using loops::Statement;
using loops::Symbol;
using loops::SymExpr;

bool is_arg(ReduceOp op) { return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax; }

// Appends instructions to one body.
class Emitter {
 public:
  Emitter(Kernel& kernel, Body& body) : kernel_(kernel), body_(body) {}

  ScalarId op(ScalarOp what, ir::DType dtype, std::vector<ScalarId> args) {
    return add({.op = what, .dtype = dtype, .args = std::move(args)});
  }
  ScalarId load(BufferId buffer, const SymExpr& index) {
    return add({.op = ScalarOp::kLoad,
                .dtype = kernel_.buffers[buffer].dtype,
                .index = index,
                .buffer = buffer});
  }
  ScalarId number(const SymExpr& value, ir::DType dtype) {
    const ScalarId integer =
        add({.op = ScalarOp::kIndex, .dtype = ir::DType::kI64, .index = value});
    return op(ScalarOp::kCast, dtype, {integer});
  }
  ScalarId constant(ir::DType dtype, std::variant<std::monostate, bool, std::int64_t, double> v) {
    return add({.op = ScalarOp::kConstant, .dtype = dtype, .constant = v});
  }
  // An instruction whose result has a name already.
  void define(ScalarId result, ScalarOp op, ir::DType dtype, std::vector<ScalarId> args) {
    body_.push_back(Statement{
        Instruction{.result = result, .op = op, .dtype = dtype, .args = std::move(args)}});
  }

 private:
  ScalarId add(Instruction instruction) {
    instruction.result = kernel_.new_scalar();
    const ScalarId result = instruction.result;
    body_.push_back(Statement{std::move(instruction)});
    return result;
  }

  Kernel& kernel_;
  Body& body_;
};

class Merger {
 public:
  Merger(Kernel& kernel, const Parts& parts) : kernel_(kernel), parts_(parts) {
    first_.variable = parts.variable;
    second_.variable = Symbol(parts.variable.str() + "_again");
    first_.extent = second_.extent = parts.count;
  }

  void add(const Partial& partial) {
    if (is_arg(partial.reduction.op)) {
      add_position(partial);
    } else if (partial.reduction.op == ReduceOp::kWelford) {
      add_moments(partial);
    } else {
      Emitter emit(kernel_, first_.body);
      Reduction again = partial.reduction;
      again.input = emit.load(partial.workspaces[0], parts_.index);
      first_.reductions.push_back(std::move(again));
    }
  }

  Body take() && {
    Body body;
    body.push_back(Statement{std::move(first_)});
    for (Statement& statement : between_) body.push_back(std::move(statement));
    if (!second_.reductions.empty()) body.push_back(Statement{std::move(second_)});
    return body;
  }

 private:
  SymExpr again(const SymExpr& expr) const {
    return expr.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
      if (symbol != parts_.variable) return std::nullopt;
      return SymExpr::symbol(second_.variable);
    });
  }

  ScalarId reduce(Loop& loop, ReduceOp op, ir::DType dtype, ScalarId input, ScalarId result) {
    loop.reductions.push_back({.op = op, .dtype = dtype, .input = input, .results = {result}});
    return result;
  }

  void add_position(const Partial& partial) {
    const ir::DType dtype = partial.reduction.dtype;
    const ReduceOp op = partial.reduction.op == ReduceOp::kArgMax ? ReduceOp::kMax : ReduceOp::kMin;
    Emitter first(kernel_, first_.body);
    const ScalarId best = reduce(first_, op, dtype, first.load(partial.workspaces[0], parts_.index),
                                 partial.reduction.results[0]);
    Emitter second(kernel_, second_.body);
    const SymExpr index = again(parts_.index);
    const ScalarId value = second.load(partial.workspaces[0], index);
    ScalarId same = second.op(ScalarOp::kEq, ir::DType::kBool, {value, best});
    if (ir::is_floating(dtype)) {
      const ScalarId nans = second.op(ScalarOp::kLogicalAnd, ir::DType::kBool,
                                      {second.op(ScalarOp::kIsNan, ir::DType::kBool, {value}),
                                       second.op(ScalarOp::kIsNan, ir::DType::kBool, {best})});
      same = second.op(ScalarOp::kLogicalOr, ir::DType::kBool, {same, nans});
    }
    const ScalarId position = second.load(partial.workspaces[1], index);
    const ScalarId none =
        second.constant(ir::DType::kI64, std::numeric_limits<std::int64_t>::max());
    const ScalarId candidate =
        second.op(ScalarOp::kSelect, ir::DType::kI64, {same, position, none});
    reduce(second_, ReduceOp::kMin, ir::DType::kI64, candidate, partial.reduction.results[1]);
  }

  void add_moments(const Partial& partial) {
    const ir::DType dtype = partial.reduction.dtype;
    const ScalarId mean = partial.reduction.results[0];
    Emitter first(kernel_, first_.body);
    const ScalarId sum =
        reduce(first_, ReduceOp::kSum, dtype,
               weighted(first, partial, parts_.index, parts_.length, {}), kernel_.new_scalar());
    Emitter between(kernel_, between_);
    between.define(mean, ScalarOp::kDiv, dtype, {sum, between.number(parts_.total, dtype)});
    Emitter second(kernel_, second_.body);
    const SymExpr index = again(parts_.index);
    const ScalarId spread = weighted(second, partial, index, again(parts_.length), mean);
    const ScalarId inside = second.load(partial.workspaces[1], index);
    reduce(second_, ReduceOp::kSum, dtype, second.op(ScalarOp::kAdd, dtype, {inside, spread}),
           partial.reduction.results[1]);
  }

  // n_i mean_i, or n_i (mean_i - mean)^2; an empty part, whose mean is NaN, gives 0.
  ScalarId weighted(Emitter& emit, const Partial& partial, const SymExpr& index,
                    const SymExpr& length, ScalarId mean) {
    const ir::DType dtype = partial.reduction.dtype;
    const ScalarId count = emit.number(length, dtype);
    ScalarId value = emit.load(partial.workspaces[0], index);
    if (mean.valid()) {
      const ScalarId distance = emit.op(ScalarOp::kSub, dtype, {value, mean});
      value = emit.op(ScalarOp::kMul, dtype, {distance, distance});
    }
    const ScalarId product = emit.op(ScalarOp::kMul, dtype, {count, value});
    const ScalarId zero = emit.constant(dtype, 0.0);
    const ScalarId some = emit.op(ScalarOp::kGt, ir::DType::kBool, {count, zero});
    return emit.op(ScalarOp::kSelect, dtype, {some, product, zero});
  }

  Kernel& kernel_;
  const Parts& parts_;
  Loop first_, second_;
  Body between_;
};

}  // namespace

Body merge_parts(Kernel& kernel, const std::vector<Partial>& partials, const Parts& parts) {
  Merger merger(kernel, parts);
  for (const Partial& partial : partials) merger.add(partial);
  return std::move(merger).take();
}

}  // namespace triptych::mapping
