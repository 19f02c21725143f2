// Prints programs; program_parse.cpp reads them back.
#include "codegen/plan/program_text.h"

#include <set>

#include "codegen/plan/storage_extent.h"
#include "ir/literal_text.h"
#include "ir/symbol_text.h"
#include "ir/type_text.h"

namespace triptych::plan {

namespace {

std::string_view storage_name(Slot::Storage storage) {
  switch (storage) {
    case Slot::Storage::kInput:
      return "input";
    case Slot::Storage::kConstant:
      return "constant";
    case Slot::Storage::kArena:
      return "arena";
    case Slot::Storage::kOutput:
      return "output";
    case Slot::Storage::kExternal:
      return "external";
    case Slot::Storage::kView:
      return "view";
    case Slot::Storage::kScalar:
      return "scalar";
  }
  TRIPTYCH_UNREACHABLE("storage");
}

std::string_view input_kind_name(ir::Input::Kind kind) {
  switch (kind) {
    case ir::Input::Kind::kUser:
      return "user";
    case ir::Input::Kind::kParameter:
      return "parameter";
    case ir::Input::Kind::kBuffer:
      return "buffer";
    case ir::Input::Kind::kConstant:
      return "constant";
  }
  TRIPTYCH_UNREACHABLE("input kind");
}

std::string_view source_name(Program::SymbolSource::Kind kind) {
  switch (kind) {
    case Program::SymbolSource::Kind::kSize:
      return "size";
    case Program::SymbolSource::Kind::kStride:
      return "stride";
    case Program::SymbolSource::Kind::kOffset:
      return "offset";
    case Program::SymbolSource::Kind::kScalar:
      return "value";
  }
  TRIPTYCH_UNREACHABLE("symbol source");
}

template <class Range, class F>
std::string joined(const Range& range, const F& text) {
  std::string out;
  for (const auto& item : range) {
    if (!out.empty()) out += ", ";
    out += text(item);
  }
  return out;
}

std::string type_text(const ir::TensorType& type) {
  std::string text;
  ir::append_tensor_type(type, text);
  return text;
}

class Printer {
 public:
  explicit Printer(const Program& program)
      : program_(program),
        print_value_([this](ir::ValueId id, std::string& out) { out += slot(id).name; }) {}

  std::string run() {
    text_ = "program {\n";
    signature();
    schemas();
    for (std::uint32_t i = 0; i < program_.slots.size(); ++i) declare(i);
    line("arena " + program_.arena_bytes.str() + " bytes (" + program_.bytes_without_reuse.str() +
         " without reuse)");
    for (const Program::SymbolSource& source : program_.symbol_sources) symbol(source);
    text_ += "\n";
    for (const Step& step : program_.steps) {
      std::visit([this](const auto& it) { print(it); }, step);
    }
    for (std::size_t k = 0; k < program_.mutations.size(); ++k) {
      print(program_.mutations[k], program_.direct_mutations[k]);
    }
    line("return " + outputs());
    return text_ + "}\n";
  }

 private:
  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  const Slot& slot(ir::ValueId id) const { return program_.slots[SlotId{id.value}]; }
  std::string name(SlotId id) const { return "%" + program_.slots[id].name; }
  std::string name(ir::ValueId id) const { return "%" + slot(id).name; }

  void signature() {
    for (const ir::SymbolInfo& symbol : program_.symbols) {
      std::string text = "symbol ";
      ir::append_symbol_info(symbol, text);
      line(text);
    }
    for (const ir::SymGuard& guard : program_.guards) {
      std::string text = "guard ";
      ir::append_guard(guard, text);
      line(text);
    }
  }

  void schemas() {
    std::set<std::string_view> seen;
    for (const Step& step : program_.steps) {
      const auto* external = std::get_if<ExternalStep>(&step);
      if (external == nullptr) continue;
      const ir::Target& target = *external->target;
      if (target.op >= 0 || target.schema == nullptr || !seen.insert(target.name).second) continue;
      line("op " + target.schema->str());
    }
  }

  void declare(std::uint32_t index) {
    const Slot& slot = program_.slots[SlotId{index}];
    std::string text(storage_name(slot.storage));
    text.resize(9, ' ');
    text += "%" + slot.name + ": ";
    if (slot.storage == Slot::Storage::kScalar) {
      text += "int(" + slot.scalar.str() + ")";
    } else {
      text += type_text(slot.type);
    }
    if (slot.storage == Slot::Storage::kArena) text += " at " + slot.arena_offset.str();
    if (slot.storage == Slot::Storage::kView) text += " of " + name(slot.base);
    // Elsewhere the number follows from the type.
    if (slot.storage == Slot::Storage::kArena || !(slot.bytes == implied_bytes(slot)))
      text += ", " + slot.bytes.str() + " bytes";
    if (index < program_.inputs.size()) {
      const ir::Input& input = program_.inputs[index];
      text += " = " + std::string(input_kind_name(input.kind)) + "(" + quote(input.name) + ")";
    }
    if (slot.storage == Slot::Storage::kConstant)
      text += " = " + quote(program_.constants[slot.index].name);
    line(text);
  }

  void symbol(const Program::SymbolSource& source) {
    std::string text =
        "symbol " + source.symbol.str() + " = " + std::string(source_name(source.kind));
    if (source.dim >= 0) text += " " + std::to_string(source.dim);
    line(text + " of " + name(SlotId{source.input}));
  }

  void print(const LaunchStep& step) {
    std::string text = "launch " + program_.kernels[step.kernel].name + "(";
    text += joined(step.buffers, [this](SlotId id) { return name(id); });
    if (!step.symbols.empty())
      text += "; " + joined(step.symbols, [](const SymExpr& e) { return e.str(); });
    line(text + ")");
  }

  void print(const ExternalStep& step) {
    std::string text = joined(step.results, [this](SlotId id) { return name(id); });
    text += text.empty() ? "call " : " = ";
    ir::append_word((step.out_variant ? step.out_target : step.target)->name, text);
    text += "(" + joined(step.args, [this](const auto& a) { return literal(a); }) + ")";
    if (step.out_variant) {
      text += " for ";
      ir::append_word(step.target->name, text);
    }
    line(text);
  }

  void print(const FreeStep& step) {
    line("free " + joined(step.slots, [this](SlotId id) { return name(id); }));
  }

  void print(const ir::Mutation& mutation, bool direct) {
    const std::string input = name(SlotId{mutation.input});
    std::string text = direct ? "in place " : "";
    text += mutation.kind == ir::Mutation::Kind::kData ? "copy " : "set metadata of ";
    if (mutation.kind == ir::Mutation::Kind::kData) text += name(mutation.value) + " to ";
    text += input;
    if (!(mutation.metadata == ir::TensorType{})) text += " as " + type_text(mutation.metadata);
    if (mutation.kind == ir::Mutation::Kind::kMetadata && mutation.value.valid())
      text += " from " + name(mutation.value);
    line(text);
  }

  std::string literal(const ir::Argument& argument) const {
    std::string text;
    ir::append_literal(argument, text, print_value_);
    return text;
  }

  std::string outputs() const {
    std::string text;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      if (i > 0) text += ", ";
      text += output(program_.outputs[i], program_.copied_outputs[i]);
    }
    return text.empty() ? "nothing" : text;
  }

  std::string output(const ir::Output& output, bool copied) const {
    std::string text = output.hidden ? "hidden " : "";
    if (copied) text += "copy of ";
    return text + output_text(output);
  }

  std::string output_text(const ir::Output& output) const {
    using Kind = ir::Output::Kind;
    switch (output.kind) {
      case Kind::kFresh:
        return name(output.value);
      case Kind::kInput:
        return "input " + name(SlotId{output.index});
      case Kind::kViewOfInput:
        return "view of input " + name(SlotId{output.index}) +
               (output.detached ? " detached as " : " as ") + type_text(output.view);
      case Kind::kViewOfOutput:
        return "view of output " + std::to_string(output.index) + " as " + type_text(output.view);
      case Kind::kSameAs:
        return "same as output " + std::to_string(output.index);
      case Kind::kLiteral:
        return "literal " + literal(output.literal);
    }
    TRIPTYCH_UNREACHABLE("output kind");
  }

  static SymExpr implied_bytes(const Slot& slot) {
    return slot.storage == Slot::Storage::kScalar ? SymExpr() : extent_in_bytes(slot.type);
  }

  const Program& program_;
  const ir::ValuePrinter print_value_;
  std::string text_;
};

}  // namespace

std::string print_steps(const Program& program) { return Printer(program).run(); }

std::string print(const Program& program) {
  std::string text;
  for (const loops::Kernel& kernel : program.kernels) text += loops::print(kernel) + "\n";
  return text + print_steps(program);
}

}  // namespace triptych::plan
