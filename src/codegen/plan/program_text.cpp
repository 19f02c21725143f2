// The text form of programs:
//
//   program {
//     input    %x: f32[4, 8]
//     arena    %t: f32[4, 8] at 0, 128 bytes
//     output   %y: f32[4, 8]
//     arena 128 bytes (192 without reuse)
//
//     launch k0_add(%x, %t)
//     %m = aten.mm.out(%t, %w)
//     free %m
//     return %y
//   }
#include "codegen/plan/program.h"

#include <cstdio>

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

template <class Range, class F>
std::string joined(const Range& range, const F& text) {
  std::string out;
  for (const auto& item : range) {
    if (!out.empty()) out += ", ";
    out += text(item);
  }
  return out;
}

std::string expression(const SymExpr& e) { return e.str(); }

std::string type_text(const ir::TensorType& type) {
  std::string text(ir::dtype_name(type.dtype));
  text += "[" + joined(type.sizes, expression) + "]";
  text += " strides [" + joined(type.strides, expression) + "]";
  if (!(type.storage_offset == SymExpr(0))) text += " offset " + type.storage_offset.str();
  if (type.device.type.str() != "cpu") text += " " + type.device.str();
  return text;
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    text_ = "program {\n";
    for (const Slot& slot : program_.slots) declare(slot);
    line("arena " + program_.arena_bytes.str() + " bytes (" + program_.bytes_without_reuse.str() +
         " without reuse)");
    for (const Program::SymbolSource& source : program_.symbol_sources) symbol(source);
    text_ += "\n";
    for (const Step& step : program_.steps) {
      std::visit([this](const auto& it) { print(it); }, step);
    }
    for (std::size_t k = 0; k < program_.mutations.size(); ++k) {
      if (!program_.direct_mutations[k]) print(program_.mutations[k]);
    }
    line("return " + outputs());
    return text_ + "}\n";
  }

 private:
  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  std::string name(SlotId id) const { return "%" + program_.slots[id].name; }
  std::string name(ir::ValueId id) const { return name(SlotId{id.value}); }

  void declare(const Slot& slot) {
    std::string head(storage_name(slot.storage));
    head.resize(9, ' ');
    head += "%" + slot.name + ": ";
    if (slot.storage == Slot::Storage::kScalar) return line(head + "int = " + slot.scalar.str());
    head += type_text(slot.type);
    if (slot.storage == Slot::Storage::kArena) {
      head += " at " + slot.arena_offset.str() + ", " + slot.bytes.str() + " bytes";
    }
    if (slot.storage == Slot::Storage::kView) head += " of " + name(slot.base);
    line(head);
  }

  void symbol(const Program::SymbolSource& source) {
    static constexpr std::string_view kKinds[] = {"size", "stride", "offset", "value"};
    std::string text = "symbol " + source.symbol.str() + " = " +
                       std::string(kKinds[static_cast<int>(source.kind)]);
    if (source.dim >= 0) text += " " + std::to_string(source.dim);
    line(text + " of " + name(SlotId{source.input}));
  }

  void print(const LaunchStep& step) {
    std::string text = "launch " + program_.kernels[step.kernel].name + "(";
    text += joined(step.buffers, [this](SlotId id) { return name(id); });
    if (!step.symbols.empty()) text += "; " + joined(step.symbols, expression);
    line(text + ")");
  }

  void print(const ExternalStep& step) {
    std::string text = joined(step.results, [this](SlotId id) { return name(id); });
    if (!text.empty()) text += " = ";
    text += (step.out_variant ? step.out_target : step.target)->name + "(";
    line(text + joined(step.args, [this](const auto& a) { return argument(a); }) + ")");
  }

  void print(const FreeStep& step) {
    line("free " + joined(step.slots, [this](SlotId id) { return name(id); }));
  }

  void print(const ir::Mutation& mutation) {
    const std::string input = name(SlotId{mutation.input});
    if (mutation.kind == ir::Mutation::Kind::kData)
      return line("copy " + name(mutation.value) + " to " + input);
    line("set metadata of " + input + " to " + type_text(mutation.metadata));
  }

  std::string argument(const ir::Argument& argument) const {
    if (const auto* value = argument.get_if<ir::ValueId>()) return name(*value);
    if (const auto* list = argument.get_if<ir::ArgumentList>()) {
      return "[" + joined(list->items, [this](const auto& item) { return this->argument(item); }) +
             "]";
    }
    if (const auto* e = argument.get_if<SymExpr>()) return e->str();
    if (const auto* i = argument.get_if<std::int64_t>()) return std::to_string(*i);
    if (const auto* b = argument.get_if<bool>()) return *b ? "True" : "False";
    if (const auto* d = argument.get_if<double>()) return number(*d);
    if (const auto* s = argument.get_if<std::string>()) return "\"" + *s + "\"";
    if (const auto* t = argument.get_if<ir::DType>()) return std::string(ir::dtype_name(*t));
    if (const auto* d = argument.get_if<ir::Device>()) return d->str();
    return argument.is_none() ? "None" : "...";
  }

  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
  }

  std::string outputs() const {
    std::string text;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      if (i > 0) text += ", ";
      text += output(program_.outputs[i], program_.copied_outputs[i]);
    }
    return text;
  }

  std::string output(const ir::Output& output, bool copied) const {
    using Kind = ir::Output::Kind;
    switch (output.kind) {
      case Kind::kFresh:
        return copied ? "copy of " + name(output.value) : name(output.value);
      case Kind::kInput:
        return name(SlotId{output.index});
      case Kind::kViewOfInput:
        return "view of " + name(SlotId{output.index}) + " " + type_text(output.view);
      case Kind::kViewOfOutput:
        return "view of #" + std::to_string(output.index) + " " + type_text(output.view);
      case Kind::kSameAs:
        return "#" + std::to_string(output.index);
      case Kind::kLiteral:
        return argument(output.literal);
    }
    TRIPTYCH_UNREACHABLE("output kind");
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).run(); }

}  // namespace triptych::plan
