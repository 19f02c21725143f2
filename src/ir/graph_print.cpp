#include "ir/graph_text.h"

#include <set>

#include "ir/literal_text.h"
#include "ir/symbol_text.h"
#include "ir/type_text.h"

namespace triptych::ir {
namespace {

std::string_view input_kind(Input::Kind kind) {
  switch (kind) {
    case Input::Kind::kUser:
      return "user";
    case Input::Kind::kParameter:
      return "parameter";
    case Input::Kind::kBuffer:
      return "buffer";
    case Input::Kind::kConstant:
      return "constant";
  }
  TRIPTYCH_UNREACHABLE("an input kind");
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options)
      : graph_(graph),
        options_(options),
        print_value_([this](ValueId id, std::string& out) { out += graph_.value(id).name; }) {}

  std::string run() {
    out_ = "graph ";
    append_word(graph_.name(), out_);
    out_ += graph_.level() == Level::kNormalized ? " normalized {\n" : " captured {\n";
    schemas();
    if (options_.signature) signature();
    for (const NodeId id : graph_.order()) node(graph_.node(id));
    for (const Mutation& item : graph_.mutations()) mutation(item);
    for (const Output& item : graph_.outputs()) output(item);
    return std::move(out_) + "}\n";
  }

 private:
  // Of ops outside the table, in order of first use.
  void schemas() {
    std::set<std::string_view> seen;
    for (const NodeId id : graph_.order()) {
      const Target& target = *graph_.node(id).target;
      if (target.op >= 0 || target.schema == nullptr || !seen.insert(target.name).second) continue;
      out_ += "  op " + target.schema->str() + "\n";
    }
  }

  void signature() {
    for (const SymbolInfo& symbol : graph_.symbols()) {
      out_ += "  symbol ";
      append_symbol_info(symbol, out_);
      out_ += '\n';
    }
    for (const SymGuard& guard : graph_.guards()) {
      out_ += "  guard ";
      append_guard(guard, out_);
      out_ += '\n';
    }
    for (const Input& input : graph_.inputs()) {
      out_ += "  ";
      typed_value(input.value);
      ((out_ += " = input.") += input_kind(input.kind)) += "(" + quote(input.name) + ")\n";
    }
    for (const Constant& constant : graph_.constants()) {
      out_ += "  ";
      typed_value(constant.value);
      out_ += " = constant(" + quote(constant.name) + ")\n";
    }
  }

  void value_name(ValueId id) { (out_ += '%') += graph_.value(id).name; }

  void typed_value(ValueId id) {
    value_name(id);
    out_ += ": ";
    append_type(graph_.value(id).type, out_);
  }

  void node(const Node& node) {
    out_ += "  ";
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (i != 0) out_ += ", ";
      typed_value(node.results[i]);
    }
    out_ += node.results.empty() ? "call " : " = ";
    append_word(node.target->name, out_);
    out_ += '(';
    arguments(node);
    out_ += ')';
    if (options_.locations) location(node);
    out_ += '\n';
  }

  void arguments(const Node& node) {
    const Schema* schema =
        graph_.level() == Level::kNormalized ? node.target->schema.get() : nullptr;
    bool first = true;
    const auto next = [&] {
      if (!first) out_ += ", ";
      first = false;
    };
    // Trailing arguments that equal their defaults are left out.
    std::size_t positional = node.args.size();
    if (schema != nullptr) {
      const auto keyword_only = [&](std::size_t i) {
        return i < schema->arguments.size() && schema->arguments[i].keyword_only;
      };
      while (positional > 0 &&
             (keyword_only(positional - 1) || is_default(*schema, node, positional - 1))) {
        --positional;
      }
    }
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      if (i >= positional && is_default(*schema, node, i)) continue;
      next();
      if (i >= positional) out_ += schema->arguments[i].name + "=";
      append_literal(node.args[i], out_, print_value_);
    }
    for (const auto& [name, argument] : node.kwargs) {
      next();
      out_ += name + "=";
      append_literal(argument, out_, print_value_);
    }
  }

  static bool is_default(const Schema& schema, const Node& node, std::size_t i) {
    return i < schema.arguments.size() && schema.arguments[i].default_value &&
           *schema.arguments[i].default_value == node.args[i];
  }

  void location(const Node& node) {
    const SourceLocation& where = node.location;
    if (where.file.empty() && where.module_path.empty() && node.origin.empty()) return;
    out_ += "  #";
    if (!where.file.empty()) {
      out_ += ' ';
      append_word(where.file, out_);
      out_ += ":" + std::to_string(where.line);
    }
    if (!where.module_path.empty()) {
      out_ += " in ";
      append_word(where.module_path, out_);
    }
    if (!node.origin.empty()) {
      out_ += " from ";
      append_word(node.origin, out_);
    }
  }

  void type_if_set(const TensorType& type) {
    if (type == TensorType{}) return;
    out_ += " as ";
    append_tensor_type(type, out_);
  }

  void mutation(const Mutation& mutation) {
    out_ +=
        mutation.kind == Mutation::Kind::kData ? "  mutate input " : "  mutate metadata of input ";
    out_ += std::to_string(mutation.input);
    if (mutation.value.valid()) {
      out_ += " to ";
      value_name(mutation.value);
    }
    type_if_set(mutation.metadata);
    out_ += '\n';
  }

  void output(const Output& output) {
    out_ += output.hidden ? "  hidden output" : "  output";
    if (output.value.valid()) {
      out_ += ' ';
      value_name(output.value);
    }
    switch (output.kind) {
      case Output::Kind::kFresh:
        break;
      case Output::Kind::kInput:
        out_ += " is input " + std::to_string(output.index);
        break;
      case Output::Kind::kViewOfInput:
        out_ += " views input " + std::to_string(output.index);
        if (output.detached) out_ += " detached";
        break;
      case Output::Kind::kViewOfOutput:
        out_ += " views output " + std::to_string(output.index);
        break;
      case Output::Kind::kSameAs:
        out_ += " is output " + std::to_string(output.index);
        break;
      case Output::Kind::kLiteral:
        out_ += " literal ";
        append_literal(output.literal, out_, print_value_);
        break;
    }
    type_if_set(output.view);
    out_ += '\n';
  }

  const Graph& graph_;
  const PrintOptions& options_;
  const ValuePrinter print_value_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).run();
}

}  // namespace triptych::ir
