#include "capture_graph.h"

#include <nanobind/stl/string.h>

#include "ir/sym_size.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

using capture::NodeArgument;

class GraphEmitter {
 public:
  GraphEmitter(const capture::CaptureResult& captured, const capture::GuardProgram& guards,
               nb::handle builder)
      : captured_(captured), guards_(guards), builder_(builder) {}

  void run() {
    for (const capture::GraphInput& input : captured_.inputs) add_input(input);
    for (const capture::CapturedNode& node : captured_.nodes) add_node(node);
    nb::list outputs;
    for (const NodeArgument& output : captured_.outputs) outputs.append(argument(output));
    builder_.attr("output")(outputs);
    count_specialized();
  }

 private:
  void add_input(const capture::GraphInput& input) {
    nb::list symbols;
    for (const capture::InputSymbol& symbol : guards_.guards().symbols) {
      if (symbol.source == input.source) {
        symbols.append(nb::make_tuple(symbol.dimension, symbol.name));
      }
    }
    inputs_.append(builder_.attr("input")(input.name, guards_.sources().text(input.source),
                                          object(input.example), symbols));
  }

  void count_specialized() {
    for (const ir::SymGuard& guard : guards_.guards().relations) {
      if (guard.reason == ir::kTooLarge)
        builder_.attr("specialized")(nb::str(guard.reason.c_str()));
    }
  }

  void add_node(const capture::CapturedNode& node) {
    nb::dict keywords;
    for (const auto& [name, value] : node.keywords) keywords[name.c_str()] = argument(value);
    const bool is_method = node.kind == capture::CapturedNode::Kind::kMethod;
    nodes_.append(builder_.attr("node")(is_method, object(node.target), items(node.arguments),
                                        keywords, node.file, node.line, node.module_path,
                                        object(node.example)));
  }

  static nb::object object(const capture::Owned& owned) {
    return owned ? nb::borrow(owned.get()) : nb::none();
  }

  nb::tuple items(const std::vector<NodeArgument>& arguments) {
    nb::list list;
    for (const NodeArgument& item : arguments) list.append(argument(item));
    return nb::tuple(list);
  }

  nb::object argument(const NodeArgument& value) {
    switch (value.kind) {
      case NodeArgument::Kind::kNode:
        return nodes_[value.index];
      case NodeArgument::Kind::kInput:
        return inputs_[value.index];
      case NodeArgument::Kind::kConstant:
        return object(value.object);
      case NodeArgument::Kind::kTuple:
        return items(value.items);
      case NodeArgument::Kind::kList:
        return nb::list(items(value.items));
      case NodeArgument::Kind::kDict: {
        nb::dict dict;
        const nb::tuple keys = nb::borrow<nb::tuple>(value.object.get());
        for (std::size_t k = 0; k < value.items.size(); ++k)
          dict[keys[k]] = argument(value.items[k]);
        return dict;
      }
      case NodeArgument::Kind::kSlice: {
        const nb::tuple ends = items(value.items);
        return nb::steal(PySlice_New(nb::object(ends[0]).ptr(), nb::object(ends[1]).ptr(),
                                     nb::object(ends[2]).ptr()));
      }
    }
    return nb::none();
  }

  const capture::CaptureResult& captured_;
  const capture::GuardProgram& guards_;
  nb::handle builder_;
  nb::list inputs_, nodes_;  // as the builder made them
};

}  // namespace

void emit_graph(const capture::CaptureResult& captured, const capture::GuardProgram& guards,
                nb::handle builder) {
  GraphEmitter(captured, guards, builder).run();
}

}  // namespace triptych::bindings
