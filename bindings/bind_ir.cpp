// Graphs and symbolic integers.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "constant_bytes.h"
#include "graph_objects.h"
#include "ir/graph_file.h"
#include "ir/graph_text.h"
#include "ir/symbol_text.h"
#include "ir/type_text.h"
#include "ir/verifier.h"
#include "ops/op_status.h"
#include "ops/op_table.h"
#include "typed_argument.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

using ir::Graph;

template <class View, class Items>
std::vector<View> views(const GraphPtr& graph, const Items& items) {
  std::vector<View> out;
  for (std::size_t i = 0; i < items.size(); ++i) out.push_back(View{graph, i});
  return out;
}

GraphPtr parse(nb::handle text, nb::handle constants) {
  return std::make_shared<Graph>(
      unwrap(ops::parse_graph(text_argument(text, "Graph.parse: text"),
                              constants_argument(constants, "Graph.parse: constants"))));
}

GraphPtr load(nb::handle path) {
  return std::make_shared<Graph>(
      unwrap(ir::load_graph(path_argument(path, "Graph.load: path"),
                            [](std::string_view name) { return ops::find_target(name); })));
}

std::vector<std::string> verify(const Graph& graph) {
  std::vector<std::string> out;
  for (const Error& error : ir::verify(graph)) out.push_back(error.describe());
  return out;
}

std::vector<NodeView> nodes(const GraphPtr& graph) {
  std::vector<NodeView> out;
  for (const ir::NodeId id : graph->order()) out.push_back({graph, id});
  return out;
}

nb::list arguments(const NodeView& node) {
  nb::list out;
  for (const ir::Argument& argument : node.get().args) out.append(to_python(node.graph, argument));
  return out;
}

nb::dict keyword_arguments(const NodeView& node) {
  nb::dict out;
  for (const auto& [name, argument] : node.get().kwargs) {
    out[nb::cast(name)] = to_python(node.graph, argument);
  }
  return out;
}

std::vector<ValueView> results(const NodeView& node) {
  std::vector<ValueView> out;
  for (const ir::ValueId id : node.get().results) out.push_back({node.graph, id});
  return out;
}

std::string type_text(const ir::ValueType& type) {
  std::string out;
  ir::append_type(type, out);
  return out;
}

std::string level_name(ir::Level level) {
  return level == ir::Level::kNormalized ? "normalized" : "captured";
}

const char* input_kind(ir::Input::Kind kind) {
  static constexpr const char* kNames[] = {"user", "parameter", "buffer", "constant"};
  return kNames[static_cast<int>(kind)];
}

const char* output_kind(ir::Output::Kind kind) {
  static constexpr const char* kNames[] = {"fresh",          "input",   "view_of_input",
                                           "view_of_output", "same_as", "literal"};
  return kNames[static_cast<int>(kind)];
}

void bind_sym_expr(nb::module_& module) {
  nb::class_<ir::SymExpr>(module, "SymExpr", "A symbolic integer.")
      .def_static("parse", [](const std::string& text) { return unwrap(ir::parse_sym_expr(text)); })
      .def("__str__", &ir::SymExpr::str)
      .def("__repr__", &ir::SymExpr::str)
      .def("__hash__", &ir::SymExpr::hash)
      .def(nb::self == nb::self)
      .def_prop_ro("is_constant", &ir::SymExpr::is_constant)
      .def("__int__", &ir::SymExpr::constant)
      .def("evaluate", [](const ir::SymExpr& e, const std::map<std::string, std::int64_t>& values) {
        return e.evaluate([&](ir::Symbol symbol) -> std::optional<std::int64_t> {
          const auto found = values.find(symbol.str());
          return found == values.end() ? std::nullopt : std::optional(found->second);
        });
      });
  nb::class_<ir::SymbolInfo>(module, "SymbolInfo")
      .def_prop_ro("name", [](const ir::SymbolInfo& x) { return x.name.str(); })
      .def_ro("low", &ir::SymbolInfo::low)
      .def_ro("high", &ir::SymbolInfo::high)
      .def_ro("hint", &ir::SymbolInfo::hint);
  nb::class_<ir::SymGuard>(module, "SymGuard")
      .def_ro("left", &ir::SymGuard::left)
      .def_ro("right", &ir::SymGuard::right)
      .def_ro("reason", &ir::SymGuard::reason)
      .def("__str__", &ir::relation_text);
}

void bind_types(nb::module_& module) {
  nb::class_<ir::TensorType>(module, "TensorType")
      .def_prop_ro("dtype", [](const ir::TensorType& x) { return to_python(x.dtype); })
      .def_prop_ro("device", [](const ir::TensorType& x) { return to_python(x.device); })
      .def_prop_ro("sizes", [](const ir::TensorType& x) { return to_python(x.sizes); })
      .def_prop_ro("strides", [](const ir::TensorType& x) { return to_python(x.strides); })
      .def_prop_ro("storage_offset",
                   [](const ir::TensorType& x) { return to_python(x.storage_offset); })
      .def_ro("requires_grad", &ir::TensorType::requires_grad)
      .def(nb::self == nb::self)
      .def("__str__", [](const ir::TensorType& x) { return type_text(x); });
  nb::class_<ir::ScalarValueType>(module, "ScalarType")
      .def_prop_ro("kind",
                   [](const ir::ScalarValueType& x) {
                     static constexpr const char* kNames[] = {"int", "float", "bool"};
                     return kNames[static_cast<int>(x.kind)];
                   })
      .def_prop_ro("expr",
                   [](const ir::ScalarValueType& x) {
                     return x.expr ? to_python(*x.expr) : nb::object(nb::none());
                   })
      .def("__str__", [](const ir::ScalarValueType& x) { return type_text(x); });
  nb::class_<ir::ObjectType>(module, "ObjectType")
      .def_ro("name", &ir::ObjectType::name)
      .def("__str__", [](const ir::ObjectType& x) { return type_text(x); });
  nb::class_<ir::Generator>(module, "Generator").def_ro("name", &ir::Generator::name);
}

void bind_parts(nb::module_& module) {
  nb::class_<ValueView>(module, "Value")
      .def_prop_ro("name", [](const ValueView& x) { return x.get().name; })
      .def_prop_ro("type", [](const ValueView& x) { return to_python(x.get().type); })
      .def_prop_ro("id", [](const ValueView& x) { return x.id.value; })
      .def(
          "__eq__",
          [](const ValueView& x, const ValueView& y) { return x.graph == y.graph && x.id == y.id; },
          nb::is_operator())
      .def("__hash__", [](const ValueView& x) { return x.id.value; })
      .def("__str__", [](const ValueView& x) { return "%" + x.get().name; })
      .def("__repr__", [](const ValueView& x) { return "%" + x.get().name; });
  nb::class_<NodeView>(module, "Node")
      .def_prop_ro("target", [](const NodeView& x) { return x.get().target->name; })
      .def_prop_ro("args", &arguments)
      .def_prop_ro("kwargs", &keyword_arguments)
      .def_prop_ro("results", &results)
      .def_prop_ro("location", [](const NodeView& x) { return x.get().location.str(); })
      .def_prop_ro("module_path", [](const NodeView& x) { return x.get().location.module_path; })
      .def_prop_ro("origin", [](const NodeView& x) { return x.get().origin; });
  nb::class_<InputView>(module, "Input")
      .def_prop_ro("kind", [](const InputView& x) { return input_kind(x.get().kind); })
      .def_prop_ro("name", [](const InputView& x) { return x.get().name; })
      .def_prop_ro("value", [](const InputView& x) { return to_python(x.graph, x.get().value); });
  nb::class_<OutputView>(module, "Output")
      .def_prop_ro("kind", [](const OutputView& x) { return output_kind(x.get().kind); })
      .def_prop_ro("value", [](const OutputView& x) { return to_python(x.graph, x.get().value); })
      .def_prop_ro("index", [](const OutputView& x) { return x.get().index; })
      .def_prop_ro("view", [](const OutputView& x) { return x.get().view; })
      .def_prop_ro("detached", [](const OutputView& x) { return x.get().detached; })
      .def_prop_ro("literal",
                   [](const OutputView& x) { return to_python(x.graph, x.get().literal); })
      .def_prop_ro("hidden", [](const OutputView& x) { return x.get().hidden; });
  nb::class_<MutationView>(module, "Mutation")
      .def_prop_ro("kind",
                   [](const MutationView& x) {
                     return x.get().kind == ir::Mutation::Kind::kData ? "data" : "metadata";
                   })
      .def_prop_ro("input", [](const MutationView& x) { return x.get().input; })
      .def_prop_ro("value", [](const MutationView& x) { return to_python(x.graph, x.get().value); })
      .def_prop_ro("metadata", [](const MutationView& x) { return x.get().metadata; });
}

std::vector<std::tuple<std::string, std::string, std::string, std::string>> op_rows() {
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> rows;
  for (ops::OpStatus& op : ops::op_statuses())
    rows.emplace_back(std::move(op.name), std::move(op.set), std::move(op.status),
                      std::move(op.how));
  return rows;
}

void bind_graph(nb::module_& module) {
  nb::class_<Graph>(module, "Graph", "A captured or normalized graph.")
      .def("__init__",
           [](const Graph&, const nb::args&, const nb::kwargs&) {
             throw nb::type_error("Graph: made by normalize, from_fx, Graph.parse or Graph.load");
           })
      .def_static("parse", &parse, nb::arg("text").none(), nb::arg("constants") = NamedBytes(),
                  "Reads the text form; `constants` maps names to bytes.")
      .def_static("load", &load, nb::arg("path").none(), "Reads what `save` wrote.")
      .def(
          "save",
          [](const Graph& graph, nb::handle path) {
            unwrap(ir::save_graph(with_constant_bytes(graph),
                                  path_argument(path, "Graph.save: path")));
          },
          nb::arg("path").none(),
          "Writes the text form to PATH and the constants' bytes to PATH.bin.")
      .def("__str__", [](const Graph& graph) { return ir::print(graph); })
      .def(
          "text",
          [](const Graph& graph, nb::handle locations) {
            return ir::print(graph, {.locations = typed_argument<bool>(
                                         locations, "Graph.text: locations", "bool")});
          },
          nb::arg("locations").none() = true)
      .def(
          "__eq__",
          [](const Graph& a, const Graph& b) {
            return ir::equal(with_constant_bytes(a), with_constant_bytes(b));
          },
          nb::is_operator())
      .def("__hash__", [](const Graph& graph) { return reinterpret_cast<std::uintptr_t>(&graph); })
      .def("verify", &verify, "The violations of the graph's contract, as texts.")
      .def_prop_ro("name", &Graph::name)
      .def_prop_ro("level", [](const Graph& graph) { return level_name(graph.level()); })
      .def_prop_ro("nodes", &nodes)
      .def_prop_ro("inputs",
                   [](const GraphPtr& graph) { return views<InputView>(graph, graph->inputs()); })
      .def_prop_ro("outputs",
                   [](const GraphPtr& graph) { return views<OutputView>(graph, graph->outputs()); })
      .def_prop_ro(
          "mutations",
          [](const GraphPtr& graph) { return views<MutationView>(graph, graph->mutations()); })
      .def_prop_ro("symbols", [](const Graph& graph) { return graph.symbols(); })
      .def_prop_ro("guards", [](const Graph& graph) { return graph.guards(); })
      .def_prop_ro(
          "constants", [](const Graph& graph) { return named_bytes(graph.constants()); },
          "Names to bytes; None for a constant without any.");
}

}  // namespace

void bind_ir(nb::module_& module) {
  bind_sym_expr(module);
  bind_types(module);
  bind_parts(module);
  bind_graph(module);
  module.def("op_rows", &op_rows, "(name, set, status, how) of every op of the table.");
  module.def(
      "register_op", [](const std::string& schema) { unwrap(ops::register_op(schema)); },
      nb::arg("schema"), "Makes a custom op's schema known to the text form.");
}

}  // namespace triptych::bindings
