#include "codegen/loops/interpreter.h"

#include <cmath>
#include <map>

#include "codegen/loops/scalar_eval.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

// The running state of one reduction.
class Accumulator {
 public:
  explicit Accumulator(const Reduction& reduction) : reduction_(reduction) {}

  void add(ScalarValue x) {
    const std::int64_t position = count_++;
    switch (reduction_.op) {
      case ReduceOp::kWelford:
        return add_welford(x.number);
      case ReduceOp::kArgMin:
      case ReduceOp::kArgMax:
        if (position == 0 || wins(x)) {
          value_ = x;
          index_ = position;
        }
        return;
      default:
        break;
    }
    value_ = position == 0 && !has_identity() ? x : combine(position == 0 ? identity() : value_, x);
  }

  ScalarValue result(std::size_t which) const {
    if (which == 1) {
      return reduction_.op == ReduceOp::kWelford ? ScalarValue{narrow(m2_), 0}
                                                 : ScalarValue{0, index_};
    }
    if (reduction_.op == ReduceOp::kWelford) {
      return {count_ == 0 ? std::nan("") : narrow(mean_), 0};
    }
    return count_ == 0 ? identity() : value_;
  }

 private:
  bool has_identity() const {
    return reduction_.op != ReduceOp::kMin && reduction_.op != ReduceOp::kMax;
  }

  // What an empty reduction gives; lowering refuses empty kMin and kMax where eager raises.
  ScalarValue identity() const {
    switch (reduction_.op) {
      case ReduceOp::kProd:
        return {1, 1};
      case ReduceOp::kAll:
        return {1, 1};
      case ReduceOp::kMin:
        return {INFINITY, INT64_MAX};
      case ReduceOp::kMax:
        return {-INFINITY, INT64_MIN};
      default:
        return {0, 0};
    }
  }

  ScalarValue combine(ScalarValue a, ScalarValue b) const {
    const ScalarValue pair[] = {a, b};
    const DType types[] = {reduction_.dtype, reduction_.dtype};
    switch (reduction_.op) {
      case ReduceOp::kSum:
        return evaluate(ScalarOp::kAdd, reduction_.dtype, pair, types);
      case ReduceOp::kProd:
        return evaluate(ScalarOp::kMul, reduction_.dtype, pair, types);
      case ReduceOp::kMin:
        return evaluate(ScalarOp::kMin, reduction_.dtype, pair, types);
      case ReduceOp::kMax:
        return evaluate(ScalarOp::kMax, reduction_.dtype, pair, types);
      case ReduceOp::kAny:
        return evaluate(ScalarOp::kLogicalOr, DType::kBool, pair, types);
      case ReduceOp::kAll:
        return evaluate(ScalarOp::kLogicalAnd, DType::kBool, pair, types);
      case ReduceOp::kArgMin:
      case ReduceOp::kArgMax:
      case ReduceOp::kWelford:
        break;
    }
    TRIPTYCH_UNREACHABLE("reduction has no plain combine");
  }

  bool wins(ScalarValue x)
      const {  // over value_, which came earlier: only strictly better, or the first NaN
    if (ir::is_floating(reduction_.dtype)) {
      if (std::isnan(value_.number)) return false;
      if (std::isnan(x.number)) return true;
      return reduction_.op == ReduceOp::kArgMax ? x.number > value_.number
                                                : x.number < value_.number;
    }
    return reduction_.op == ReduceOp::kArgMax ? x.integer > value_.integer
                                              : x.integer < value_.integer;
  }

  void add_welford(double x) {
    const double delta = x - mean_;
    mean_ += delta / static_cast<double>(count_);
    m2_ += delta * (x - mean_);
  }

  double narrow(double value) const {
    return reduction_.dtype == DType::kF32 ? static_cast<float>(value) : value;
  }

  const Reduction& reduction_;
  std::int64_t count_ = 0;
  ScalarValue value_;
  std::int64_t index_ = 0;
  double mean_ = 0, m2_ = 0;  // in double also for f32: the reference is the better one
};

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, std::span<void* const> buffers,
              std::span<const std::int64_t> symbols, std::int32_t& error)
      : kernel_(kernel), error_(error), values_(kernel.num_scalars), types_(kernel.num_scalars) {
    TRIPTYCH_CHECK(symbols.size() == kernel.symbols.size(), "one value per symbol");
    for (std::size_t i = 0; i < symbols.size(); ++i) variables_[kernel.symbols[i]] = symbols[i];
    std::size_t next = 0;
    for (const Buffer& buffer : kernel.buffers) {
      const std::int64_t extent = value(buffer.extent);
      extents_.push_back(extent);
      if (buffer.kind == Buffer::Kind::kLocal) {
        locals_.emplace_back(static_cast<std::size_t>(extent * ir::dtype_bytes(buffer.dtype)));
        data_.push_back(locals_.back().data());
      } else {
        TRIPTYCH_CHECK(next < buffers.size(), "one pointer per buffer");
        data_.push_back(buffers[next++]);
      }
    }
  }

  void run() { body(kernel_.body); }

 private:
  std::int64_t value(const SymExpr& e) {
    const auto result = e.evaluate([&](Symbol symbol) -> std::optional<std::int64_t> {
      if (const auto found = variables_.find(symbol); found != variables_.end())
        return found->second;
      const auto scalar = scalar_of_symbol(symbol);
      if (!scalar || scalar->value >= values_.size()) return std::nullopt;
      return values_[scalar->value].integer;
    });
    TRIPTYCH_CHECK(result.has_value(), "kernel " + kernel_.name + ": cannot evaluate " + e.str());
    return *result;
  }

  std::int64_t place(BufferId buffer, const SymExpr& index) {
    const std::int64_t position = value(index);
    TRIPTYCH_CHECK(position >= 0 && position < extents_[buffer.value],
                   "kernel " + kernel_.name + ": index " + index.str() + " = " +
                       std::to_string(position) + " is outside %" + kernel_.buffers[buffer].name);
    return position;
  }

  bool stopped() const { return error_ != 0; }

  void body(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      if (stopped()) return;
      if (const auto* loop_ = std::get_if<Loop>(&statement.data)) {
        loop(*loop_);
      } else if (const auto* instruction_ = std::get_if<Instruction>(&statement.data)) {
        instruction(*instruction_);
      } else if (const auto* store = std::get_if<Store>(&statement.data)) {
        const std::int64_t position = place(store->buffer, store->index);
        store_scalar(data_[store->buffer.value], position, kernel_.buffers[store->buffer].dtype,
                     values_[store->value.value]);
      } else {
        const Check& check = std::get<Check>(statement.data);
        if (values_[check.condition.value].integer == 0)
          error_ = static_cast<std::int32_t>(check.code);
      }
    }
  }

  void loop(const Loop& loop) {
    const std::int64_t extent = value(loop.extent);
    std::vector<Accumulator> accumulators(loop.reductions.begin(), loop.reductions.end());
    for (std::int64_t i = 0; i < extent && !stopped(); ++i) {
      variables_[loop.variable] = i;
      body(loop.body);
      for (std::size_t r = 0; r < accumulators.size(); ++r) {
        accumulators[r].add(values_[loop.reductions[r].input.value]);
      }
    }
    variables_.erase(loop.variable);
    for (std::size_t r = 0; r < accumulators.size(); ++r) {
      const Reduction& reduction = loop.reductions[r];
      for (std::size_t j = 0; j < reduction.results.size(); ++j) {
        set(reduction.results[j], reduction_result_dtype(reduction.op, reduction.dtype, j),
            accumulators[r].result(j));
      }
    }
  }

  void instruction(const Instruction& instruction) {
    ScalarValue result;
    if (instruction.op == ScalarOp::kConstant) {
      result = constant_value(instruction);
    } else if (instruction.op == ScalarOp::kIndex) {
      result.integer = value(instruction.index);
    } else if (instruction.op == ScalarOp::kLoad) {
      result = load_scalar(data_[instruction.buffer.value],
                           place(instruction.buffer, instruction.index), instruction.dtype);
    } else {
      args_.clear();
      arg_types_.clear();
      for (ScalarId arg : instruction.args) {
        args_.push_back(values_[arg.value]);
        arg_types_.push_back(types_[arg.value]);
      }
      result = evaluate(instruction.op, instruction.dtype, args_, arg_types_);
    }
    set(instruction.result, instruction.dtype, result);
  }

  void set(ScalarId id, DType dtype, ScalarValue result) {
    values_[id.value] = result;
    types_[id.value] = dtype;
  }

  const Kernel& kernel_;
  std::int32_t& error_;
  std::vector<ScalarValue> values_;
  std::vector<DType> types_;
  std::map<Symbol, std::int64_t> variables_;
  std::vector<std::int64_t> extents_;
  std::vector<std::vector<char>> locals_;
  std::vector<void*> data_;
  std::vector<ScalarValue> args_;
  std::vector<DType> arg_types_;
};

}  // namespace

Status interpret(const Kernel& kernel, std::span<void* const> buffers,
                 std::span<const std::int64_t> symbols, std::int32_t& error) {
  try {
    Interpreter(kernel, buffers, symbols, error).run();
  } catch (const InternalError& failure) {
    return internal_error("interpreter", failure.what());
  }
  return Unit{};
}

}  // namespace triptych::loops
