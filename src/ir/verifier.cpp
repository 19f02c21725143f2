// Invariants. Every graph:
//   1. A node's arguments, and the values of outputs and mutations, are inputs, constants or
//   results of
//      earlier nodes.
//   2. A result names its node and its place among the node's results; inputs and constants name no
//   node.
//   3. Value names are unique and not empty; so are the names of constants.
//   4. A tensor type has as many strides as sizes; no size is negative.
//   5. Every symbol in types, arguments and guards is declared, once, with low <= hint <= high.
//   6. Outputs and mutations name inputs and outputs that exist. A view of an output, or the same
//   object as an
//      output, is not itself; an output of another kind than kLiteral has a value or an input.
// Captured graphs (C1):
//   7. A target is a public dotted name: no "<locals>", no lambda, no empty part.
// Normalized graphs (C2):
//   8. A target has a schema, and the node one argument per argument of it, of a fitting type; no
//   keywords.
//   9. A node has as many results as its schema's returns (a returned list counts as any number).
//  10. No node mutates its inputs.
//  11. Every node is in the declared op set (VerifyOptions::allowed).
//  12. A fresh output is no input.
//  13. An input is mutated at most once per kind, and its data gets a value.
#include "ir/verifier.h"

#include <set>

#include "ir/argument_check.h"

namespace triptych::ir {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, const VerifyOptions& options)
      : graph_(graph), options_(options), defined_(graph.num_values()) {}

  std::vector<Error> run() {
    symbols();
    for (const Input& input : graph_.inputs()) leaf(input.value, "input " + input.name);
    for (const Constant& constant : graph_.constants()) {
      leaf(constant.value, "constant " + constant.name);
      if (constant.name.empty() || !constant_names_.insert(constant.name).second) {
        report(3, "constant " + constant.name + ": found a name that is empty or used twice");
      }
    }
    for (const NodeId id : graph_.order()) node(id);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) output(i);
    for (const Mutation& item : graph_.mutations()) mutation(item);
    for (const SymGuard& guard : graph_.guards()) {
      declared(guard.left, "a guard");
      declared(guard.right, "a guard");
    }
    if (graph_.level() == Level::kNormalized) mutations_once();
    return std::move(errors_);
  }

 private:
  void report(int invariant, std::string message, std::string location = {}) {
    errors_.push_back(internal_error(
        "verify." + std::to_string(invariant),
        "invariant " + std::to_string(invariant) + ": " + std::move(message), std::move(location)));
  }

  std::string name(ValueId id) const {
    if (id.value >= graph_.num_values()) return "value " + std::to_string(id.value);
    return "%" + graph_.value(id).name;
  }

  std::string describe(const Node& node) const {
    std::string out =
        node.results.empty() ? std::string("call") : name(node.results.front()) + " =";
    return out + " " + (node.target != nullptr ? node.target->name : "(no target)");
  }

  void symbols() {
    for (const SymbolInfo& symbol : graph_.symbols()) {
      if (!symbols_.insert(symbol.name).second) {
        report(5, "the symbol " + symbol.name.str() + " is declared twice");
      }
      if (symbol.hint < symbol.low || symbol.hint > symbol.high) {
        report(5, "the symbol " + symbol.name.str() + " has the hint " +
                      std::to_string(symbol.hint) + " outside its range");
      }
    }
    ranges_ = graph_.ranges();
  }

  void declared(const SymExpr& e, const std::string& where, const std::string& location = {}) {
    if (e.is_constant()) return;
    for (const Symbol symbol : e.symbols()) {
      if (!symbols_.contains(symbol)) {
        report(5, where + ": the symbol " + symbol.str() + " is not declared", location);
      }
    }
  }

  void tensor_type(const TensorType& type, const std::string& where, const std::string& location) {
    if (type.sizes.size() != type.strides.size()) {
      report(4,
             where + ": found " + std::to_string(type.strides.size()) + " strides, expected " +
                 std::to_string(type.sizes.size()),
             location);
    }
    for (const SymExpr& size : type.sizes) {
      declared(size, where, location);
      if (size.range(ranges_).high < 0)
        report(4, where + ": the size " + size.str() + " is negative", location);
    }
    for (const SymExpr& stride : type.strides) declared(stride, where, location);
    declared(type.storage_offset, where, location);
  }

  void value(ValueId id, const std::string& where, const std::string& location) {
    const Value& value = graph_.value(id);
    if (value.name.empty()) report(3, where + ": a value has no name", location);
    if (!names_.insert(value.name).second) {
      report(3, where + ": the name %" + value.name + " is used twice", location);
    }
    if (const auto* type = std::get_if<TensorType>(&value.type)) {
      tensor_type(*type, where + ", %" + value.name, location);
    } else if (const auto* scalar = std::get_if<ScalarValueType>(&value.type)) {
      if (scalar->expr) declared(*scalar->expr, where + ", %" + value.name, location);
    }
    defined_[id.value] = true;
  }

  bool exists(ValueId id, const std::string& where) {
    if (id.value < graph_.num_values()) return true;
    report(1, where + ": found " + name(id) + ", which does not exist");
    return false;
  }

  void leaf(ValueId id, const std::string& where) {
    if (!exists(id, where)) return;
    if (graph_.value(id).producer.valid())
      report(2, where + ": " + name(id) + " is also the result of a node");
    value(id, where, {});
  }

  void use(ValueId id, const std::string& where, const std::string& location) {
    if (id.value >= graph_.num_values() || !defined_[id.value]) {
      report(1, where + ": " + name(id) + " is used before its definition", location);
    }
  }

  void argument(const Argument& argument, const std::string& where, const std::string& location) {
    for_each_value(argument, [&](ValueId id) { use(id, where, location); });
    for_each_sym_expr(argument, [&](const SymExpr& e) { declared(e, where, location); });
  }

  void node(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string where = describe(node), location = node.location.str();
    if (node.target == nullptr) {
      report(7, where + ": has no target", location);
      return;
    }
    for (const Argument& item : node.args) argument(item, where, location);
    for (const auto& [key, item] : node.kwargs) argument(item, where, location);
    if (graph_.level() == Level::kNormalized) {
      normalized_node(node, where, location);
    } else {
      captured_node(node, where, location);
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) result(id, i, where, location);
  }

  void result(NodeId node_id, std::size_t i, const std::string& where,
              const std::string& location) {
    const ValueId id = graph_.node(node_id).results[i];
    if (!exists(id, where)) return;
    const Value& made = graph_.value(id);
    if (made.producer != node_id || made.result_index != i) {
      report(2, where + ": its result " + name(id) + " names another producer", location);
    }
    value(id, where, location);
  }

  void captured_node(const Node& node, const std::string& where, const std::string& location) {
    const std::string& target = node.target->name;
    const bool has_empty_part = target.empty() || target.front() == '.' || target.back() == '.' ||
                                target.find("..") != std::string::npos;
    if (has_empty_part || target.find('.') == std::string::npos ||
        target.find('<') != std::string::npos) {
      report(7, where + ": found the target '" + target + "', expected a public dotted name",
             location);
    }
  }

  void normalized_node(const Node& node, const std::string& where, const std::string& location) {
    if (node.target->schema == nullptr) {
      report(8, where + ": the target has no schema", location);
      return;
    }
    const Schema& schema = *node.target->schema;
    if (!node.kwargs.empty()) report(8, where + ": has keyword arguments", location);
    if (node.args.size() != schema.arguments.size()) {
      report(8,
             where + ": found " + std::to_string(node.args.size()) + " arguments, expected " +
                 std::to_string(schema.arguments.size()) + " for " + schema.str(),
             location);
    } else {
      for (std::size_t i = 0; i < node.args.size(); ++i) {
        const SchemaArgument& expected = schema.arguments[i];
        if (fits(graph_, node.args[i], expected.type)) continue;
        report(8, where + ": the argument '" + expected.name + "' does not fit " + schema.str(),
               location);
      }
    }
    result_count(node, schema, where, location);
    if (schema.mutates()) report(10, where + ": mutates an argument: " + schema.str(), location);
    if (options_.allowed && !options_.allowed(*node.target)) {
      report(11, where + ": the op is not in the declared op set", location);
    }
  }

  void result_count(const Node& node, const Schema& schema, const std::string& where,
                    const std::string& location) {
    for (const SchemaArgument& returned : schema.returns) {
      if (returned.type.list) return;
    }
    if (node.results.size() == schema.returns.size()) return;
    report(9,
           where + ": found " + std::to_string(node.results.size()) + " results, expected " +
               std::to_string(schema.returns.size()),
           location);
  }

  void output(std::size_t i) {
    using Kind = Output::Kind;
    const Output& output = graph_.outputs()[i];
    const std::string where = "output " + std::to_string(i);
    if (output.value.valid()) use(output.value, where, {});
    const bool of_input = output.kind == Kind::kInput || output.kind == Kind::kViewOfInput;
    const bool of_output = output.kind == Kind::kSameAs || output.kind == Kind::kViewOfOutput;
    if (of_input && output.index >= graph_.inputs().size()) {
      report(6, where + ": found input " + std::to_string(output.index) + " of " +
                    std::to_string(graph_.inputs().size()));
    }
    if (of_output && (output.index >= graph_.outputs().size() || output.index == i)) {
      report(6, where + ": found output " + std::to_string(output.index) +
                    ", expected another output");
    }
    if (output.kind == Kind::kViewOfInput || output.kind == Kind::kViewOfOutput) {
      tensor_type(output.view, where, {});
    }
    if (output.kind == Kind::kLiteral) argument(output.literal, where, {});
    if (output.kind == Kind::kFresh && !output.value.valid()) report(6, where + ": has no value");
    if (graph_.level() != Level::kNormalized || output.kind != Kind::kFresh) return;
    for (const Input& input : graph_.inputs()) {
      if (input.value == output.value)
        report(12, where + ": the fresh output " + name(output.value) + " is an input");
    }
  }

  void mutation(const Mutation& mutation) {
    const std::string where = "mutation of input " + std::to_string(mutation.input);
    if (mutation.input >= graph_.inputs().size()) report(6, where + ": there is no such input");
    if (mutation.value.valid()) use(mutation.value, where, {});
    if (mutation.kind == Mutation::Kind::kMetadata) {
      tensor_type(mutation.metadata, where, {});
    } else if (!mutation.value.valid()) {
      report(13, where + ": the new data has no value");
    }
  }

  void mutations_once() {
    std::set<std::pair<std::uint32_t, Mutation::Kind>> seen;
    for (const Mutation& mutation : graph_.mutations()) {
      if (!seen.insert({mutation.input, mutation.kind}).second) {
        report(13, "input " + std::to_string(mutation.input) + " is mutated twice in the same way");
      }
    }
  }

  const Graph& graph_;
  const VerifyOptions& options_;
  std::vector<bool> defined_;
  std::set<std::string_view> names_;
  std::set<std::string_view> constant_names_;
  std::set<Symbol> symbols_;
  SymRanges ranges_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> verify(const Graph& graph, const VerifyOptions& options) {
  return Verifier(graph, options).run();
}

}  // namespace triptych::ir
