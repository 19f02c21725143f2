#include "codegen/writers/cpp/cpp_writer.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "codegen/mapping/launch_info.h"
#include "codegen/writers/cpp/expression_text.h"
#include "codegen/writers/cpp/prelude.h"
#include "support/check.h"

namespace triptych::writers {

namespace {

using ir::DType;
using ir::SymExpr;
using loops::Buffer;
using loops::Instruction;
using loops::Kernel;
using loops::Loop;
using loops::ReduceOp;
using loops::Reduction;
using loops::ScalarId;
using loops::ScalarOp;
using loops::Statement;

class FunctionWriter {
 public:
  FunctionWriter(const Kernel& kernel, std::set<std::string>& uses)
      : kernel_(kernel), uses_(uses) {}

  std::string run() {
    comment();
    line("extern \"C\" void " + kernel_.name +
         "(void* const* buffers, const std::int64_t* symbols,");
    line("    std::int64_t begin, std::int64_t end, std::int32_t* error, void* scratch) {");
    ++depth_;
    parameters();
    body(kernel_.body);
    // Not every kernel needs all of its parameters.
    line("static_cast<void>(symbols), static_cast<void>(begin), static_cast<void>(end);");
    line("static_cast<void>(error), static_cast<void>(scratch);");
    --depth_;
    line("}");
    return std::move(text_);
  }

 private:
  void comment() {
    if (kernel_.origins.empty()) return;
    std::string names;
    for (const std::string& origin : kernel_.origins) names += (names.empty() ? "" : ", ") + origin;
    line("// " + names);
  }

  void parameters() {
    for (std::size_t k = 0; k < kernel_.symbols.size(); ++k) {
      line("const std::int64_t " + kernel_.symbols[k].str() + " = symbols[" + std::to_string(k) +
           "];");
    }
    std::vector<SymExpr> offsets = mapping::local_offsets(kernel_);
    std::size_t local = 0, parameter = 0;
    for (const Buffer& buffer : kernel_.buffers) {
      std::string type = cpp::memory_type(buffer.dtype);
      if (buffer.kind == Buffer::Kind::kLocal) {
        line(type + "* " + name_of(buffer) + " = reinterpret_cast<" + type +
             "*>(static_cast<char*>(scratch) + " + index(offsets.at(local++)) + ");");
        continue;
      }
      if (buffer.kind == Buffer::Kind::kInput) type = "const " + type;
      line(type + "* " + name_of(buffer) + " = static_cast<" + type + "*>(buffers[" +
           std::to_string(parameter++) + "]);");
    }
  }

  // A trailing underscore keeps apart from scalars, loop variables, sizes and words of the
  // language.
  static std::string name_of(const Buffer& buffer) {
    std::string name = buffer.name;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "b" + name;
    return name + "_";
  }

  std::string index(const SymExpr& e) {
    note_calls(e);
    return e.str();  // floordiv, mod, min and max are functions of the prelude
  }
  void note_calls(const SymExpr& e) {
    if (auto call = e.as_call()) {
      uses_.insert(std::string(call->op));
      note_calls(*call->a);
      note_calls(*call->b);
      return;
    }
    if (e.is_constant() || e.is_symbol()) return;
    for (const SymExpr::Term& term : e.terms()) {
      for (const SymExpr& atom : term.atoms) note_calls(atom);
    }
  }

  std::string element(loops::BufferId buffer, const SymExpr& at) {
    return name_of(kernel_.buffers[buffer]) + "[" + index(at) + "]";
  }
  static std::string name_of(ScalarId id) { return "v" + std::to_string(id.value); }

  void body(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      if (const auto* instruction_ = std::get_if<Instruction>(&statement.data)) {
        instruction(*instruction_);
      } else if (const auto* store = std::get_if<loops::Store>(&statement.data)) {
        line(element(store->buffer, store->index) + " = " + name_of(store->value) + ";");
      } else if (const auto* check = std::get_if<loops::Check>(&statement.data)) {
        line("if (!" + name_of(check->condition) + ") {");
        line("  *error = " + std::to_string(static_cast<int>(check->code)) + ";");
        line("  return;");
        line("}");
      } else {
        loop(std::get<Loop>(statement.data));
      }
    }
  }

  void instruction(const Instruction& instruction) {
    std::string value;
    switch (instruction.op) {
      case ScalarOp::kConstant:
        value = cpp::constant_text(instruction.dtype, instruction.constant);
        if (value.starts_with("triptych::")) uses_.insert("float16");
        break;
      case ScalarOp::kIndex:
        value = index(instruction.index);
        break;
      case ScalarOp::kLoad:
        value = element(instruction.buffer, instruction.index);
        if (instruction.dtype == DType::kBool) value += " != 0";
        break;
      default: {
        std::vector<std::string> args;
        std::vector<DType> types;
        for (ScalarId arg : instruction.args) {
          args.push_back(name_of(arg));
          types.push_back(types_.at(arg.value));
        }
        value = cpp::operation_text(instruction.op, instruction.dtype, args, types, uses_);
      }
    }
    define(instruction.result, instruction.dtype, value, "const ");
  }

  void define(ScalarId id, DType dtype, const std::string& value, const char* qualifier) {
    if (types_.size() <= id.value) types_.resize(id.value + 1);
    types_[id.value] = dtype;
    line(qualifier + cpp::variable_type(dtype) + " " + name_of(id) + " = " + value + ";");
  }

  void loop(const Loop& loop) {
    for (const Reduction& reduction : loop.reductions) start(reduction);
    std::string i = loop.variable.str();
    bool parallel = loop.schedule == loops::Schedule::kParallel;
    std::string first = parallel ? "begin" : "0";
    std::string last = parallel ? "end" : index(loop.extent);
    line("for (std::int64_t " + i + " = " + first + "; " + i + " < " + last + "; ++" + i + ") {");
    ++depth_;
    body(loop.body);
    for (const Reduction& reduction : loop.reductions) accumulate(reduction, i);
    --depth_;
    line("}");
    for (const Reduction& reduction : loop.reductions) finish(reduction);
  }

  static bool is_max(ReduceOp op) { return op == ReduceOp::kMax || op == ReduceOp::kArgMax; }
  // Sums of f32 are kept in double: one plain sum, unlike the many of a vector loop, would lose
  // digits.
  static bool in_double(const Reduction& r) {
    return r.dtype == DType::kF32 && (r.op == ReduceOp::kSum || r.op == ReduceOp::kWelford);
  }
  static std::string sum_name(ScalarId id) { return name_of(id) + "_sum"; }
  static std::string count_name(const Reduction& r) { return name_of(r.results[0]) + "_count"; }

  static std::string first_value(const Reduction& r) {
    std::string type = cpp::variable_type(r.dtype);
    switch (r.op) {
      case ReduceOp::kSum:
      case ReduceOp::kWelford:
        return "0";
      case ReduceOp::kProd:
        return "1";
      case ReduceOp::kAny:
        return "false";
      case ReduceOp::kAll:
        return "true";
      case ReduceOp::kMin:
      case ReduceOp::kArgMin:
      case ReduceOp::kMax:
      case ReduceOp::kArgMax:
        break;
    }
    bool max = is_max(r.op);
    if (r.dtype == DType::kBool) return max ? "false" : "true";
    if (ir::is_floating(r.dtype))
      return std::string(max ? "-" : "") + "std::numeric_limits<" + type + ">::infinity()";
    return "std::numeric_limits<" + type + (max ? ">::min()" : ">::max()");
  }

  void start(const Reduction& r) {
    if (in_double(r) || r.op == ReduceOp::kWelford) {
      for (ScalarId id : r.results) line("double " + sum_name(id) + " = 0;");
      if (r.op == ReduceOp::kWelford) line("double " + count_name(r) + " = 0;");
      return;
    }
    define(r.results[0], r.dtype, first_value(r), "");
    if (r.results.size() > 1) define(r.results[1], DType::kI64, "0", "");
  }

  void accumulate(const Reduction& r, const std::string& i) {
    std::string x = name_of(r.input);
    std::string value = in_double(r) ? sum_name(r.results[0]) : name_of(r.results[0]);
    bool is_bool = r.dtype == DType::kBool;
    switch (r.op) {
      case ReduceOp::kSum:
        return line(value + (is_bool ? " |= " : " += ") + x + ";");
      case ReduceOp::kProd:
        return line(value + (is_bool ? " &= " : " *= ") + x + ";");
      case ReduceOp::kAny:
        return line(value + " |= " + x + ";");
      case ReduceOp::kAll:
        return line(value + " &= " + x + ";");
      case ReduceOp::kMin:
      case ReduceOp::kMax: {
        std::string function = is_max(r.op) ? "highest_of" : "lowest_of";
        uses_.insert(function);
        return line(value + " = " + function + "(" + value + ", " + x + ");");
      }
      case ReduceOp::kArgMin:
      case ReduceOp::kArgMax:
        uses_.insert("beats");
        return line("if (beats(" + x + (is_max(r.op) ? " > " : " < ") + value + ", " + x + ", " +
                    value + ")) " + value + " = " + x + ", " + name_of(r.results[1]) + " = " + i +
                    ";");
      case ReduceOp::kWelford:
        return welford(r, x);
    }
  }

  void welford(const Reduction& r, const std::string& x) {
    std::string mean = sum_name(r.results[0]), m2 = sum_name(r.results[1]), count = count_name(r);
    line("{");
    line("  const double delta = " + x + " - " + mean + ";");
    line("  " + count + " += 1;");
    line("  " + mean + " += delta / " + count + ";");
    line("  " + m2 + " += delta * (" + x + " - " + mean + ");");
    line("}");
  }

  void finish(const Reduction& r) {
    std::string type = cpp::variable_type(r.dtype);
    auto narrowed = [&](ScalarId id) { return "static_cast<" + type + ">(" + sum_name(id) + ")"; };
    if (r.op == ReduceOp::kWelford) {
      std::string nan = "std::numeric_limits<" + type + ">::quiet_NaN()";
      define(r.results[0], r.dtype,
             count_name(r) + " == 0 ? " + nan + " : " + narrowed(r.results[0]), "const ");
      define(r.results[1], r.dtype, narrowed(r.results[1]), "const ");
    } else if (in_double(r)) {
      define(r.results[0], r.dtype, narrowed(r.results[0]), "const ");
    }
  }

  void line(const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(depth_) * 2, ' ') + text + "\n";
  }

  const Kernel& kernel_;
  std::set<std::string>& uses_;
  std::string text_;
  std::vector<DType> types_;
  int depth_ = 0;
};

bool has_form(DType dtype) {
  return !ir::is_complex(dtype) &&
         (!ir::is_floating(dtype) || dtype == DType::kF16 || dtype == DType::kBF16 ||
          dtype == DType::kF32 || dtype == DType::kF64);
}

}  // namespace

Result<Module> CppWriter::write(const std::vector<loops::Kernel>& kernels,
                                const mapping::Traits&) const {
  Module module{.language = language()};
  std::set<std::string> uses;
  std::string functions;
  for (const loops::Kernel& kernel : kernels) {
    for (const Buffer& buffer : kernel.buffers) {
      if (has_form(buffer.dtype)) continue;
      return unsupported("writers.dtype", "kernel " + kernel.name + ": buffer %" + buffer.name +
                                              " has dtype " +
                                              std::string(ir::dtype_name(buffer.dtype)) +
                                              ", which C++ code has no form for");
    }
    functions += FunctionWriter(kernel, uses).run() + "\n";
    module.entries.push_back(kernel.name);
  }
  module.text = cpp::prelude(uses) + functions;
  return module;
}

}  // namespace triptych::writers
