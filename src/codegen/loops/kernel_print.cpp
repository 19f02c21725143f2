// The text form of kernels; kernel_parse.cpp reads it back. A dtype is printed only where it does
// not follow from the operands.
#include <charconv>
#include <cmath>

#include "codegen/loops/kernel.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

std::string_view kind_name(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::kInput:
      return "in";
    case Buffer::Kind::kOutput:
      return "out";
    case Buffer::Kind::kInOut:
      return "inout";
    case Buffer::Kind::kLocal:
      return "local";
    case Buffer::Kind::kWorkspace:
      return "workspace";
  }
  TRIPTYCH_UNREACHABLE("buffer kind");
}

std::string_view check_name(Check::Code code) {
  switch (code) {
    case Check::Code::kIndexOutOfRange:
      return "index_out_of_range";
    case Check::Code::kDivisionByZero:
      return "division_by_zero";
  }
  TRIPTYCH_UNREACHABLE("check code");
}

std::string print_double(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // not an integer; "inf" has n
  return text;
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), types_(kernel.num_scalars) {}

  std::string run() {
    header();
    body(kernel_.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void header() {
    out_ += "kernel " + kernel_.name;
    if (!kernel_.symbols.empty()) {
      out_ += "[";
      separated(kernel_.symbols, ", ", [&](Symbol s) { out_ += s.str(); });
      out_ += "]";
    }
    out_ += "(";
    bool first = true;
    for (const Buffer& buffer : kernel_.buffers) {
      if (buffer.kind == Buffer::Kind::kLocal) continue;
      if (!first) out_ += ", ";
      first = false;
      declare(buffer);
    }
    out_ += ")";
    if (!kernel_.origins.empty()) {
      out_ += " from (";
      separated(kernel_.origins, ", ", [&](const std::string& s) { out_ += s; });
      out_ += ")";
    }
    out_ += " {\n";
    for (const Buffer& buffer : kernel_.buffers) {
      if (buffer.kind != Buffer::Kind::kLocal) continue;
      out_ += "  ";
      declare(buffer);
      out_ += "\n";
    }
  }

  void declare(const Buffer& buffer) {
    out_ += kind_name(buffer.kind);
    out_ += " %" + buffer.name + ": ";
    out_ += ir::dtype_name(buffer.dtype);
    out_ += "[" + buffer.extent.str() + "]";
  }

  void body(const std::vector<Statement>& statements, int depth) {
    for (const Statement& statement : statements) {
      if (const auto* loop = std::get_if<Loop>(&statement.data)) {
        print_loop(*loop, depth);
        continue;
      }
      indent(depth);
      if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
        print_instruction(*instruction);
      } else if (const auto* store = std::get_if<Store>(&statement.data)) {
        out_ += "store ";
        place(store->buffer, store->index);
        out_ += ", " + name(store->value);
      } else {
        const Check& check = std::get<Check>(statement.data);
        out_ += "check " + name(check.condition) + ", ";
        out_ += check_name(check.code);
      }
      out_ += "\n";
    }
  }

  void print_instruction(const Instruction& instruction) {
    out_ += name(instruction.result) + " = ";
    out_ += info(instruction.op).name;
    std::vector<DType> args;
    std::optional<DType> buffer;
    if (instruction.op == ScalarOp::kConstant) {
      out_ += " ";
      print_constant(instruction);
    } else if (instruction.op == ScalarOp::kIndex) {
      out_ += " [" + instruction.index.str() + "]";
    } else if (instruction.op == ScalarOp::kLoad) {
      out_ += " ";
      place(instruction.buffer, instruction.index);
      if (in_range(instruction.buffer)) buffer = kernel_.buffers[instruction.buffer].dtype;
    } else {
      for (std::size_t i = 0; i < instruction.args.size(); ++i) {
        out_ += (i == 0 ? " " : ", ") + name(instruction.args[i]);
        args.push_back(type(instruction.args[i]));
      }
    }
    if (implied_dtype(instruction.op, args, buffer) != instruction.dtype) {
      out_ += " : ";
      out_ += ir::dtype_name(instruction.dtype);
    }
    set_type(instruction.result, instruction.dtype);
  }

  void print_constant(const Instruction& instruction) {
    if (const auto* flag = std::get_if<bool>(&instruction.constant)) {
      out_ += *flag ? "true" : "false";
    } else if (const auto* integer = std::get_if<std::int64_t>(&instruction.constant)) {
      out_ += std::to_string(*integer);
    } else if (const auto* number = std::get_if<double>(&instruction.constant)) {
      out_ += print_double(*number);
    } else {
      out_ += "none";
    }
  }

  void print_loop(const Loop& loop, int depth) {
    indent(depth);
    out_ += "for " + loop.variable.str() + " in " + loop.extent.str();
    if (loop.schedule == Schedule::kParallel) out_ += " parallel";
    if (loop.schedule == Schedule::kVector || loop.width != 1) {
      out_ += " vector(" + std::to_string(loop.width) + ")";
    }
    if (loop.unroll != 1) out_ += " unroll(" + std::to_string(loop.unroll) + ")";
    // The body comes first: it defines the dtypes that the reductions are printed against.
    std::string before = std::move(out_);
    out_.clear();
    body(loop.body, depth + 1);
    std::string inside = std::move(out_);
    out_ = std::move(before);
    if (!loop.reductions.empty()) {
      out_ += " reduce(";
      separated(loop.reductions, "; ", [&](const Reduction& r) { print_reduction(r); });
      out_ += ")";
    }
    out_ += " {\n" + inside;
    indent(depth);
    out_ += "}\n";
  }

  void print_reduction(const Reduction& reduction) {
    separated(reduction.results, ", ", [&](ScalarId id) { out_ += name(id); });
    out_ += " = ";
    out_ += reduce_op_name(reduction.op);
    out_ += " " + name(reduction.input);
    if (type(reduction.input) != reduction.dtype) {
      out_ += " : ";
      out_ += ir::dtype_name(reduction.dtype);
    }
    for (std::size_t i = 0; i < reduction.results.size(); ++i) {
      set_type(reduction.results[i], reduction_result_dtype(reduction.op, reduction.dtype, i));
    }
  }

  void place(BufferId buffer, const SymExpr& index) {
    out_ += "%" + (in_range(buffer) ? kernel_.buffers[buffer].name : "?") + "[" + index.str() + "]";
  }

  template <class C, class F>
  void separated(const C& items, std::string_view separator, const F& print_item) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += separator;
      first = false;
      print_item(item);
    }
  }

  bool in_range(BufferId id) const { return id.value < kernel_.buffers.size(); }
  static std::string name(ScalarId id) {
    return id.valid() ? "v" + std::to_string(id.value) : std::string("v?");
  }
  DType type(ScalarId id) const {
    return id.value < types_.size() ? types_[id.value] : DType::kF32;
  }
  void set_type(ScalarId id, DType dtype) {
    if (id.value < types_.size()) types_[id.value] = dtype;
  }
  void indent(int depth) { out_.append(static_cast<std::size_t>(depth) * 2, ' '); }

  const Kernel& kernel_;
  std::vector<DType> types_;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace triptych::loops
