#include <array>

#include "ir/graph_text.h"
#include "ir/literal_text.h"
#include "ir/symbol_text.h"
#include "ir/type_text.h"

namespace triptych::ir {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const ConstantBytes& constants, const TargetResolver& resolve)
      : scanner_(text, "graph.parse"),
        constants_(constants),
        resolve_(resolve),
        value_parser_([this](Scanner&) { return value_use(); }) {}

  Result<Graph> run() {
    scanner_.skip_comments();
    TRIPTYCH_TRY([[maybe_unused]] const Unit keyword, scanner_.expect("graph"));
    TRIPTYCH_TRY(std::string name, parse_word(scanner_));
    TRIPTYCH_TRY(const Level level, parse_level());
    graph_ = Graph(std::move(name), level);
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("{"));
    while (true) {
      scanner_.skip_comments();
      if (scanner_.accept("}")) break;
      TRIPTYCH_TRY([[maybe_unused]] const Unit parsed, statement());
    }
    scanner_.skip_comments();
    if (!scanner_.at_end()) return scanner_.error("the end of the graph's text");
    return std::move(graph_);
  }

 private:
  Result<Level> parse_level() {
    if (scanner_.accept("normalized")) return Level::kNormalized;
    if (scanner_.accept("captured")) return Level::kCaptured;
    return scanner_.error("'captured' or 'normalized'");
  }

  Status statement() {
    if (scanner_.peek() == '%') return definition();
    if (scanner_.accept("call")) return node({});
    if (scanner_.accept("output")) return output(false);
    if (scanner_.accept("mutate")) return mutation();
    if (scanner_.accept("op")) return schema();
    if (scanner_.accept("symbol")) return symbol();
    if (scanner_.accept("guard")) return guard();
    if (scanner_.accept("hidden")) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit keyword, scanner_.expect("output"));
      return output(true);
    }
    return scanner_.error(
        "a definition as '%name: type = target(...)', 'call', 'op', 'symbol', 'guard', "
        "'mutate', 'output' or '}'");
  }

  Status schema() {
    scanner_.peek();
    const std::size_t begin = scanner_.position();
    auto parsed = parse_schema(scanner_.rest_of_line());
    if (!parsed.ok()) return scanner_.error_at(begin, "in this schema: " + parsed.error().message);
    const std::string name = parsed.value().qualified();
    const Target* known = resolve(name);
    if (known == nullptr || known->schema == nullptr) {
      intern_target(name, std::make_shared<const Schema>(std::move(parsed).value()));
    } else if (*known->schema != parsed.value()) {
      return scanner_.error_at(begin,
                               name + " is known with another schema, " + known->schema->str());
    }
    return Unit{};
  }

  Status symbol() {
    TRIPTYCH_TRY(const SymbolInfo info, parse_symbol_info(scanner_));
    graph_.symbols().push_back(info);
    return Unit{};
  }

  Status guard() {
    TRIPTYCH_TRY(SymGuard guard, parse_guard(scanner_));
    graph_.guards().push_back(std::move(guard));
    return Unit{};
  }

  std::string_view value_name() {
    const std::size_t begin = scanner_.position();
    const std::string_view text = scanner_.text();
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
      ++end;
    }
    scanner_.rewind(end);
    return text.substr(begin, end - begin);
  }

  Result<ValueId> value_use() {
    const std::size_t begin = scanner_.position();
    const std::string_view name = value_name();
    if (name.empty()) return scanner_.error("a value's name behind '%'");
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    return scanner_.error_at(begin, "%" + std::string(name) + " is used before its definition");
  }

  struct NewValue {
    std::string_view name;
    std::size_t position;
    ValueType type;
  };

  Status definition() {
    std::vector<NewValue> results;
    do {
      TRIPTYCH_TRY([[maybe_unused]] const Unit percent, scanner_.expect("%"));
      NewValue& added = results.emplace_back();
      added.position = scanner_.position();
      added.name = value_name();
      if (added.name.empty()) return scanner_.error("a value's name behind '%'");
      if (values_.contains(added.name)) {
        return scanner_.error_at(added.position,
                                 "%" + std::string(added.name) + " is already defined");
      }
      TRIPTYCH_TRY([[maybe_unused]] const Unit colon, scanner_.expect(":"));
      TRIPTYCH_TRY(added.type, parse_type(scanner_));
    } while (scanner_.accept(","));
    TRIPTYCH_TRY([[maybe_unused]] const Unit equals, scanner_.expect("="));
    if (scanner_.next_is("input.")) return input(std::move(results));
    if (scanner_.next_is("constant(")) return constant(std::move(results));
    return node(std::move(results));
  }

  Result<std::string> name_in_parentheses() {
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    TRIPTYCH_TRY(std::string name, scanner_.quoted());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    return name;
  }

  Status input(std::vector<NewValue> values) {
    using Kind = Input::Kind;
    static constexpr std::array<std::pair<std::string_view, Kind>, 4> kKinds{
        {{"user", Kind::kUser},
         {"parameter", Kind::kParameter},
         {"buffer", Kind::kBuffer},
         {"constant", Kind::kConstant}}};
    if (values.size() != 1) return scanner_.error("one value for an input");
    scanner_.accept("input.");
    for (const auto& [text, kind] : kKinds) {
      if (!scanner_.accept(text)) continue;
      TRIPTYCH_TRY(std::string name, name_in_parentheses());
      const ValueId id = add_value(std::move(values.front()));
      graph_.inputs().push_back(Input{kind, id, std::move(name)});
      return Unit{};
    }
    return scanner_.error("'user', 'parameter', 'buffer' or 'constant'");
  }

  Status constant(std::vector<NewValue> values) {
    if (values.size() != 1) return scanner_.error("one value for a constant");
    if (!std::holds_alternative<TensorType>(values.front().type)) {
      return scanner_.error_at(values.front().position, "a constant must have a tensor type");
    }
    scanner_.accept("constant");
    TRIPTYCH_TRY(std::string name, name_in_parentheses());
    const auto found = constants_.find(name);
    Constant added{add_value(std::move(values.front())), std::move(name), nullptr, nullptr};
    if (found != constants_.end()) added.bytes = found->second;
    graph_.constants().push_back(std::move(added));
    return Unit{};
  }

  ValueId add_value(NewValue value) {
    const ValueId id = graph_.add_value(std::move(value.type), value.name);
    values_.emplace(value.name, id);
    return id;
  }

  const Target* resolve(std::string_view name) const {
    const Target* found = resolve_ ? resolve_(name) : nullptr;
    return found != nullptr ? found : find_target(name);
  }

  Result<const Target*> target() {
    scanner_.peek();
    const std::size_t begin = scanner_.position();
    TRIPTYCH_TRY(const std::string name, parse_word(scanner_));
    const Target* found = resolve(name);
    if (graph_.level() == Level::kCaptured) return found != nullptr ? found : intern_target(name);
    if (found != nullptr && found->schema != nullptr) return found;
    return scanner_.error_at(begin, "the op " + name +
                                        " is not in the op table, and no 'op' line above "
                                        "gives its schema");
  }

  Status node(std::vector<NewValue> results) {
    Node node;
    TRIPTYCH_TRY(node.target, target());
    TRIPTYCH_TRY([[maybe_unused]] const Unit bound, arguments(node));
    TRIPTYCH_TRY([[maybe_unused]] const Unit located, location(node));
    const NodeId id =
        graph_.add_node(node.target, std::move(node.args), {}, std::move(node.location));
    Node& added = graph_.node(id);
    added.kwargs = std::move(node.kwargs);
    added.origin = std::move(node.origin);
    for (NewValue& result : results) {
      if (values_.contains(result.name)) {
        return scanner_.error_at(result.position,
                                 "%" + std::string(result.name) + " is already defined");
      }
      const ValueId value = add_value(std::move(result));
      graph_.value(value).producer = id;
      graph_.value(value).result_index = static_cast<std::uint32_t>(added.results.size());
      added.results.push_back(value);
    }
    return Unit{};
  }

  // Normalized: one argument per argument of the schema, defaults filled in. Captured: as written.
  Status arguments(Node& node) {
    scanner_.peek();
    const std::size_t begin = scanner_.position();
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    const Schema* schema =
        graph_.level() == Level::kNormalized ? node.target->schema.get() : nullptr;
    std::vector<std::optional<Argument>> bound(schema != nullptr ? schema->arguments.size() : 0);
    for (std::size_t position = 0; !scanner_.accept(")"); ++position) {
      if (position != 0) {
        TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
      }
      scanner_.peek();
      const std::size_t argument_at = scanner_.position();
      const std::string keyword = accept_keyword();
      TRIPTYCH_TRY(Argument value, parse_literal(scanner_, value_parser_));
      if (schema == nullptr) {
        if (!keyword.empty()) {
          node.kwargs.emplace_back(keyword, std::move(value));
        } else if (node.kwargs.empty()) {
          node.args.push_back(std::move(value));
        } else {
          return scanner_.error_at(argument_at,
                                   "a positional argument stands behind a keyword argument");
        }
        continue;
      }
      const auto slot = keyword.empty() ? std::optional(position) : schema->find(keyword);
      if (!slot || *slot >= bound.size() || bound[*slot]) {
        return scanner_.error_at(argument_at, "this argument does not fit " + schema->str());
      }
      bound[*slot] = std::move(value);
    }
    return schema != nullptr ? fill_defaults(node, *schema, std::move(bound), begin)
                             : Status(Unit{});
  }

  Status fill_defaults(Node& node, const Schema& schema, std::vector<std::optional<Argument>> bound,
                       std::size_t begin) {
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const SchemaArgument& argument = schema.arguments[i];
      if (!bound[i] && !argument.default_value) {
        return scanner_.error_at(
            begin, "the argument '" + argument.name + "' of " + schema.qualified() + " is missing");
      }
      node.args.push_back(bound[i] ? *std::move(bound[i]) : *argument.default_value);
    }
    return Unit{};
  }

  // "name=", or nothing.
  std::string accept_keyword() {
    const std::size_t begin = scanner_.position();
    const std::string_view word = scanner_.word();
    if (!word.empty() && scanner_.accept("=")) return std::string(word);
    scanner_.rewind(begin);
    return {};
  }

  // "# model.py:12 in layers.0 from add_1", each part optional; the file is quoted when it is no
  // bare word.
  Status location(Node& node) {
    if (scanner_.line_ended() || !scanner_.accept("#")) return Unit{};
    while (!scanner_.line_ended()) {
      const bool quoted = scanner_.peek() == '"';
      TRIPTYCH_TRY(std::string word, parse_word(scanner_));
      if (!quoted && word == "in") {
        TRIPTYCH_TRY(node.location.module_path, parse_word(scanner_));
      } else if (!quoted && word == "from") {
        TRIPTYCH_TRY(node.origin, parse_word(scanner_));
      } else {
        TRIPTYCH_TRY([[maybe_unused]] const Unit parsed,
                     file_and_line(std::move(word), quoted, node.location));
      }
    }
    return Unit{};
  }

  Status file_and_line(std::string word, bool quoted, SourceLocation& location) {
    if (!quoted) {
      const std::size_t colon = word.rfind(':');
      if (colon == std::string::npos)
        return scanner_.error("a location as 'file:line' in front of this");
      scanner_.rewind(scanner_.position() - (word.size() - colon));
      word.resize(colon);
    }
    TRIPTYCH_TRY([[maybe_unused]] const Unit separator, scanner_.expect(":"));
    TRIPTYCH_TRY(const std::int64_t line, scanner_.integer());
    location.file = std::move(word);
    location.line = static_cast<int>(line);
    return Unit{};
  }

  Result<std::uint32_t> number() {
    TRIPTYCH_TRY(const std::int64_t value, scanner_.integer());
    if (value < 0 || value >= INT32_MAX) return scanner_.error("a small number in front of this");
    return static_cast<std::uint32_t>(value);
  }

  Status mutation() {
    Mutation mutation;
    if (scanner_.accept("metadata")) {
      mutation.kind = Mutation::Kind::kMetadata;
      TRIPTYCH_TRY([[maybe_unused]] const Unit of, scanner_.expect("of"));
    }
    TRIPTYCH_TRY([[maybe_unused]] const Unit keyword, scanner_.expect("input"));
    TRIPTYCH_TRY(mutation.input, number());
    if (scanner_.accept("to")) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit percent, scanner_.expect("%"));
      TRIPTYCH_TRY(mutation.value, value_use());
    }
    if (scanner_.accept("as")) {
      TRIPTYCH_TRY(mutation.metadata, parse_tensor_type(scanner_));
    }
    graph_.mutations().push_back(std::move(mutation));
    return Unit{};
  }

  Status output(bool hidden) {
    Output output;
    output.hidden = hidden;
    if (!scanner_.line_ended() && scanner_.accept("%")) {
      TRIPTYCH_TRY(output.value, value_use());
    }
    if (scanner_.accept("is")) {
      TRIPTYCH_TRY(output.kind, input_or_output(Output::Kind::kInput, Output::Kind::kSameAs));
      TRIPTYCH_TRY(output.index, number());
    } else if (scanner_.accept("views")) {
      TRIPTYCH_TRY(output.kind,
                   input_or_output(Output::Kind::kViewOfInput, Output::Kind::kViewOfOutput));
      TRIPTYCH_TRY(output.index, number());
      output.detached = output.kind == Output::Kind::kViewOfInput && scanner_.accept("detached");
    } else if (scanner_.accept("literal")) {
      output.kind = Output::Kind::kLiteral;
      TRIPTYCH_TRY(output.literal, parse_literal(scanner_, value_parser_));
    }
    if (scanner_.accept("as")) {
      TRIPTYCH_TRY(output.view, parse_tensor_type(scanner_));
    }
    graph_.outputs().push_back(std::move(output));
    return Unit{};
  }

  Result<Output::Kind> input_or_output(Output::Kind input, Output::Kind output) {
    if (scanner_.accept("input")) return input;
    if (scanner_.accept("output")) return output;
    return scanner_.error("'input' or 'output'");
  }

  Scanner scanner_;
  const ConstantBytes& constants_;
  const TargetResolver& resolve_;
  const ValueParser value_parser_;
  Graph graph_;
  std::map<std::string_view, ValueId> values_;  // names point into the text
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ConstantBytes& constants,
                          const TargetResolver& resolve) {
  return Parser(text, constants, resolve).run();
}

}  // namespace triptych::ir
