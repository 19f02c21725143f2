// Reads the text form of programs (program_text.cpp prints it).
#include <array>
#include <cctype>
#include <map>

#include "codegen/plan/program_text.h"
#include "codegen/plan/storage_extent.h"
#include "ir/literal_text.h"
#include "ir/sym_text.h"
#include "ir/symbol_text.h"
#include "ir/type_text.h"
#include "ops/op_table.h"
#include "ops/out_target.h"
#include "support/text_blocks.h"

namespace triptych::plan {
namespace {

using Storage = Slot::Storage;
using Source = Program::SymbolSource;

template <class T>
using Words = std::pair<std::string_view, T>;

constexpr std::array<Words<Storage>, 7> kStorages{{{"input", Storage::kInput},
                                                   {"constant", Storage::kConstant},
                                                   {"arena", Storage::kArena},
                                                   {"output", Storage::kOutput},
                                                   {"external", Storage::kExternal},
                                                   {"view", Storage::kView},
                                                   {"scalar", Storage::kScalar}}};
constexpr std::array<Words<ir::Input::Kind>, 4> kInputKinds{
    {{"user", ir::Input::Kind::kUser},
     {"parameter", ir::Input::Kind::kParameter},
     {"buffer", ir::Input::Kind::kBuffer},
     {"constant", ir::Input::Kind::kConstant}}};
constexpr std::array<Words<Source::Kind>, 4> kSources{{{"size", Source::Kind::kSize},
                                                       {"stride", Source::Kind::kStride},
                                                       {"offset", Source::Kind::kOffset},
                                                       {"value", Source::Kind::kScalar}}};

// What stands between the braces of "program { ... }".
class Parser {
 public:
  Parser(std::string_view text, Program& program, const ir::ConstantBytes& constants)
      : scanner_(text, "program.parse"),
        program_(program),
        constants_(constants),
        value_parser_([this](Scanner&) -> Result<ir::ValueId> {
          TRIPTYCH_TRY(const SlotId id, slot_behind_percent());
          return ir::ValueId{id.value};
        }) {}

  Status run() {
    TRIPTYCH_TRY([[maybe_unused]] const Unit keyword, scanner_.expect("program"));
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("{"));
    while (true) {
      scanner_.skip_comments();
      if (scanner_.accept("}")) break;
      TRIPTYCH_TRY([[maybe_unused]] const Unit parsed, statement());
    }
    scanner_.skip_comments();
    if (!scanner_.at_end()) return scanner_.error("the end of the program's text");
    return Unit{};
  }

 private:
  Status statement() {
    if (scanner_.peek() == '%') return external_call();
    if (scanner_.accept("call")) return call_target({});
    if (scanner_.accept("symbol")) return symbol();
    if (scanner_.accept("op")) return schema();
    if (scanner_.accept("launch")) return launch();
    if (scanner_.accept("free")) return free();
    if (scanner_.accept("copy")) return copy(false);
    if (scanner_.accept("set")) return set_metadata(false);
    if (scanner_.accept("in")) return in_place();
    if (scanner_.accept("return")) return outputs();
    if (scanner_.accept("guard")) {
      TRIPTYCH_TRY(ir::SymGuard guard, ir::parse_guard(scanner_));
      program_.guards.push_back(std::move(guard));
      return Unit{};
    }
    for (const auto& [word, storage] : kStorages) {
      if (!scanner_.accept(word)) continue;
      return storage == Storage::kArena && scanner_.peek() != '%' ? arena() : declaration(storage);
    }
    return scanner_.error("a slot, a step, 'symbol', 'guard', 'op', 'arena', 'return' or '}'");
  }

  Status schema() {
    scanner_.peek();
    const std::size_t begin = scanner_.position();
    const auto known = ops::register_op(scanner_.rest_of_line());
    if (!known.ok()) return scanner_.error_at(begin, known.error().message);
    return Unit{};
  }

  // "s0 in [2, inf] hint 5", or "s0 = size 0 of %x".
  Status symbol() {
    scanner_.peek();
    const std::size_t begin = scanner_.position();
    const std::string_view name = scanner_.word();
    if (!scanner_.accept("=")) {
      scanner_.rewind(begin);
      TRIPTYCH_TRY(const ir::SymbolInfo info, ir::parse_symbol_info(scanner_));
      program_.symbols.push_back(info);
      return Unit{};
    }
    Source source;
    source.symbol = Symbol(name);
    TRIPTYCH_TRY(source.kind, one_of(kSources, "'size', 'stride', 'offset' or 'value'"));
    source.dim = -1;
    if (source.kind == Source::Kind::kSize || source.kind == Source::Kind::kStride) {
      TRIPTYCH_TRY(const std::uint32_t dim, number());
      source.dim = static_cast<int>(dim);
    }
    TRIPTYCH_TRY([[maybe_unused]] const Unit of, scanner_.expect("of"));
    TRIPTYCH_TRY(source.input, input());
    program_.symbol_sources.push_back(source);
    return Unit{};
  }

  Status arena() {
    TRIPTYCH_TRY(program_.arena_bytes, bytes());
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    TRIPTYCH_TRY(program_.bytes_without_reuse, ir::parse_sym_expr(scanner_));
    TRIPTYCH_TRY([[maybe_unused]] const Unit without, scanner_.expect("without"));
    TRIPTYCH_TRY([[maybe_unused]] const Unit reuse, scanner_.expect("reuse"));
    return scanner_.expect(")");
  }

  Result<SymExpr> bytes() {
    TRIPTYCH_TRY(SymExpr expr, ir::parse_sym_expr(scanner_));
    TRIPTYCH_TRY([[maybe_unused]] const Unit unit, scanner_.expect("bytes"));
    return expr;
  }

  Status declaration(Storage storage) {
    Slot slot;
    slot.storage = storage;
    TRIPTYCH_TRY([[maybe_unused]] const Unit percent, scanner_.expect("%"));
    slot.name = value_name();
    if (slot.name.empty() || slots_.contains(slot.name))
      return scanner_.error("a new name behind '%' in front of this");
    TRIPTYCH_TRY([[maybe_unused]] const Unit colon, scanner_.expect(":"));
    TRIPTYCH_TRY([[maybe_unused]] const Unit typed, slot_type(slot));
    if (storage == Storage::kArena) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit at, scanner_.expect("at"));
      TRIPTYCH_TRY(slot.arena_offset, ir::parse_sym_expr(scanner_));
    }
    if (storage == Storage::kView) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit of, scanner_.expect("of"));
      TRIPTYCH_TRY(slot.base, slot_use());
    }
    if (scanner_.accept(",")) {
      TRIPTYCH_TRY(slot.bytes, bytes());
    }
    const auto id = SlotId{static_cast<std::uint32_t>(program_.slots.size())};
    if (!scanner_.line_ended() && scanner_.accept("=")) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit named, signature_entry(slot, id));
    }
    slots_.emplace(slot.name, id);
    program_.slots.push_back(std::move(slot));
    return Unit{};
  }

  Status slot_type(Slot& slot) {
    if (slot.storage != Storage::kScalar) {
      TRIPTYCH_TRY(slot.type, ir::parse_tensor_type(scanner_));
      slot.bytes = extent_in_bytes(slot.type);
      return Unit{};
    }
    TRIPTYCH_TRY([[maybe_unused]] const Unit kind, scanner_.expect("int"));
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    TRIPTYCH_TRY(slot.scalar, ir::parse_sym_expr(scanner_));
    return scanner_.expect(")");
  }

  // The name of an input or constant.
  Status signature_entry(Slot& slot, SlotId id) {
    if (slot.storage == Storage::kConstant) {
      ir::Constant constant;
      constant.value = ir::ValueId{id.value};
      TRIPTYCH_TRY(constant.name, scanner_.quoted());
      const auto found = constants_.find(constant.name);
      if (found != constants_.end()) constant.bytes = found->second;
      slot.index = static_cast<std::uint32_t>(program_.constants.size());
      program_.constants.push_back(std::move(constant));
      return Unit{};
    }
    ir::Input input;
    input.value = ir::ValueId{id.value};
    TRIPTYCH_TRY(input.kind, one_of(kInputKinds, "'user', 'parameter', 'buffer' or 'constant'"));
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    TRIPTYCH_TRY(input.name, scanner_.quoted());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    if (id.value != program_.inputs.size())
      return scanner_.error("inputs in front of all other slots");
    slot.index = id.value;
    program_.inputs.push_back(std::move(input));
    return Unit{};
  }

  Status launch() {
    LaunchStep step;
    const std::string_view name = scanner_.dotted_word();
    bool found = false;
    for (std::uint32_t i = 0; i < program_.kernels.size() && !found; ++i) {
      found = program_.kernels[i].name == name;
      step.kernel = i;
    }
    if (!found) return scanner_.error("the name of one of the kernels in front of this");
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    if (scanner_.peek() == '%') {
      TRIPTYCH_TRY(step.buffers, slot_list());
    }
    if (scanner_.accept(";")) {
      do {
        TRIPTYCH_TRY(SymExpr symbol, ir::parse_sym_expr(scanner_));
        step.symbols.push_back(std::move(symbol));
      } while (scanner_.accept(","));
    }
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    program_.steps.emplace_back(std::move(step));
    return Unit{};
  }

  Status external_call() {
    TRIPTYCH_TRY(std::vector<SlotId> results, slot_list());
    TRIPTYCH_TRY([[maybe_unused]] const Unit equals, scanner_.expect("="));
    return call_target(std::move(results));
  }

  Status call_target(std::vector<SlotId> results) {
    ExternalStep step;
    step.results = std::move(results);
    TRIPTYCH_TRY(const std::string called, ir::parse_word(scanner_));
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    while (!scanner_.accept(")")) {
      if (!step.args.empty()) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
      }
      TRIPTYCH_TRY(ir::Argument argument, ir::parse_literal(scanner_, value_parser_));
      step.args.push_back(std::move(argument));
    }
    std::string name = called;
    if (!scanner_.line_ended() && scanner_.accept("for")) {
      TRIPTYCH_TRY(name, ir::parse_word(scanner_));
      step.out_variant = true;
    }
    step.target = ops::find_target(name);
    if (step.target == nullptr || step.target->schema == nullptr)
      return scanner_.error("a known op in front of this, not " + name);
    if (step.out_variant) {
      step.out_target = ops::out_target(*step.target);
      if (step.out_target == nullptr || step.out_target->name != called)
        return scanner_.error("the out form of " + name + " in front of this, not " + called);
    }
    program_.steps.emplace_back(std::move(step));
    return Unit{};
  }

  Status free() {
    FreeStep step;
    TRIPTYCH_TRY(step.slots, slot_list());
    program_.steps.emplace_back(std::move(step));
    return Unit{};
  }

  Status in_place() {
    TRIPTYCH_TRY([[maybe_unused]] const Unit place, scanner_.expect("place"));
    if (scanner_.accept("set")) return set_metadata(true);
    TRIPTYCH_TRY([[maybe_unused]] const Unit keyword, scanner_.expect("copy"));
    return copy(true);
  }

  Status copy(bool direct) {
    ir::Mutation mutation;
    TRIPTYCH_TRY(const SlotId value, slot_use());
    mutation.value = ir::ValueId{value.value};
    TRIPTYCH_TRY([[maybe_unused]] const Unit to, scanner_.expect("to"));
    return mutated(std::move(mutation), direct);
  }

  Status set_metadata(bool direct) {
    ir::Mutation mutation;
    mutation.kind = ir::Mutation::Kind::kMetadata;
    TRIPTYCH_TRY([[maybe_unused]] const Unit metadata, scanner_.expect("metadata"));
    TRIPTYCH_TRY([[maybe_unused]] const Unit of, scanner_.expect("of"));
    return mutated(std::move(mutation), direct);
  }

  Status mutated(ir::Mutation mutation, bool direct) {
    TRIPTYCH_TRY(mutation.input, input());
    if (!scanner_.line_ended() && scanner_.accept("as")) {
      TRIPTYCH_TRY(mutation.metadata, ir::parse_tensor_type(scanner_));
    }
    if (!scanner_.line_ended() && scanner_.accept("from")) {
      TRIPTYCH_TRY(const SlotId value, slot_use());
      mutation.value = ir::ValueId{value.value};
    }
    program_.mutations.push_back(std::move(mutation));
    program_.direct_mutations.push_back(direct);
    return Unit{};
  }

  Status outputs() {
    if (scanner_.accept("nothing")) return Unit{};
    do {
      ir::Output output;
      output.hidden = scanner_.accept("hidden");
      const bool copied = scanner_.accept("copy");
      if (copied) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit of, scanner_.expect("of"));
      }
      TRIPTYCH_TRY([[maybe_unused]] const Unit parsed, this->output(output));
      program_.outputs.push_back(std::move(output));
      program_.copied_outputs.push_back(copied);
    } while (scanner_.accept(","));
    return Unit{};
  }

  Status output(ir::Output& output) {
    using Kind = ir::Output::Kind;
    if (scanner_.peek() == '%') {
      TRIPTYCH_TRY(const SlotId id, slot_use());
      output.value = ir::ValueId{id.value};
      return Unit{};
    }
    if (scanner_.accept("literal")) {
      output.kind = Kind::kLiteral;
      TRIPTYCH_TRY(output.literal, ir::parse_literal(scanner_, value_parser_));
      return Unit{};
    }
    const bool view = scanner_.accept("view");
    const bool same = !view && scanner_.accept("same");
    if (view || same) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit word, scanner_.expect(view ? "of" : "as"));
    }
    if (!same && scanner_.accept("input")) {
      output.kind = view ? Kind::kViewOfInput : Kind::kInput;
      TRIPTYCH_TRY(output.index, input());
    } else {
      output.kind = view ? Kind::kViewOfOutput : Kind::kSameAs;
      TRIPTYCH_TRY([[maybe_unused]] const Unit keyword, scanner_.expect("output"));
      TRIPTYCH_TRY(output.index, number());
    }
    if (view) {
      output.detached = output.kind == Kind::kViewOfInput && scanner_.accept("detached");
      TRIPTYCH_TRY([[maybe_unused]] const Unit as, scanner_.expect("as"));
      TRIPTYCH_TRY(output.view, ir::parse_tensor_type(scanner_));
    }
    return Unit{};
  }

  template <class T, std::size_t N>
  Result<T> one_of(const std::array<Words<T>, N>& words, std::string_view expected) {
    for (const auto& [word, value] : words) {
      if (scanner_.accept(word)) return value;
    }
    return scanner_.error(expected);
  }

  Result<std::uint32_t> number() {
    TRIPTYCH_TRY(const std::int64_t value, scanner_.integer());
    if (value < 0 || value >= INT32_MAX) return scanner_.error("a small number in front of this");
    return static_cast<std::uint32_t>(value);
  }

  std::string value_name() {
    const std::string_view text = scanner_.text();
    const std::size_t begin = scanner_.position();
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    scanner_.rewind(end);
    return std::string(text.substr(begin, end - begin));
  }

  Result<SlotId> slot_behind_percent() {
    const auto found = slots_.find(value_name());
    if (found == slots_.end()) return scanner_.error("a declared slot in front of this");
    return found->second;
  }

  Result<SlotId> slot_use() {
    TRIPTYCH_TRY([[maybe_unused]] const Unit percent, scanner_.expect("%"));
    return slot_behind_percent();
  }

  Result<std::vector<SlotId>> slot_list() {
    std::vector<SlotId> out;
    do {
      TRIPTYCH_TRY(const SlotId id, slot_use());
      out.push_back(id);
    } while (scanner_.accept(","));
    return out;
  }

  Result<std::uint32_t> input() {
    TRIPTYCH_TRY(const SlotId id, slot_use());
    if (id.value >= program_.inputs.size()) return scanner_.error("an input in front of this");
    return id.value;
  }

  Scanner scanner_;
  Program& program_;
  const ir::ConstantBytes& constants_;
  const ir::ValueParser value_parser_;
  std::map<std::string, SlotId, std::less<>> slots_;
};

}  // namespace

Result<Program> parse_program(std::string_view text, const ir::ConstantBytes& constants) {
  static constexpr std::array<std::string_view, 2> kKeywords = {"kernel", "program"};
  Program program;
  bool found = false;
  for (const TextBlock& block : split_blocks(text, kKeywords)) {
    if (block.keyword == "kernel") {
      TRIPTYCH_TRY(loops::Kernel kernel, loops::parse_kernel(block.text));
      program.kernels.push_back(std::move(kernel));
    } else {
      TRIPTYCH_TRY([[maybe_unused]] const Unit parsed,
                   Parser(block.text, program, constants).run());
      found = true;
    }
  }
  if (!found) return user_error("program.parse", "found no 'program { ... }'");
  return program;
}

}  // namespace triptych::plan
