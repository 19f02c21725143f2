#include "captured_objects.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

nb::object object_or_none(const capture::Owned& object) {
  return object ? nb::borrow(object.get()) : nb::none();
}

nb::tuple argument_data(const capture::NodeArgument& argument) {
  using Kind = capture::NodeArgument::Kind;
  nb::list items;
  for (const capture::NodeArgument& item : argument.items) items.append(argument_data(item));
  switch (argument.kind) {
    case Kind::kNode:
      return nb::make_tuple("node", argument.index);
    case Kind::kInput:
      return nb::make_tuple("input", argument.index);
    case Kind::kConstant:
      return nb::make_tuple("constant", object_or_none(argument.object));
    case Kind::kTuple:
      return nb::make_tuple("tuple", items);
    case Kind::kList:
      return nb::make_tuple("list", items);
    case Kind::kDict:
      return nb::make_tuple("dict", items, object_or_none(argument.object));
    case Kind::kSlice:
      return nb::make_tuple("slice", items);
  }
  return {};
}

nb::list arguments_data(const std::vector<capture::NodeArgument>& arguments) {
  nb::list data;
  for (const capture::NodeArgument& argument : arguments) data.append(argument_data(argument));
  return data;
}

nb::tuple node_data(const capture::CapturedNode& node) {
  nb::dict keywords;
  for (const auto& [name, value] : node.keywords) keywords[name.c_str()] = argument_data(value);
  return nb::make_tuple(node.kind == capture::CapturedNode::Kind::kMethod,
                        nb::borrow(node.target.get()), arguments_data(node.arguments), keywords,
                        nb::str(node.file.c_str()), node.line, nb::str(node.module_path.c_str()),
                        object_or_none(node.example));
}

}  // namespace

nb::dict graph_data(const capture::CaptureResult& result) {
  nb::list inputs, nodes;
  for (const capture::GraphInput& input : result.inputs) {
    inputs.append(nb::make_tuple(nb::str(input.name.c_str()), input.is_parameter,
                                 object_or_none(input.example)));
  }
  for (const capture::CapturedNode& node : result.nodes) nodes.append(node_data(node));
  nb::dict data;
  data["inputs"] = inputs;
  data["nodes"] = nodes;
  data["outputs"] = arguments_data(result.outputs);
  return data;
}

}  // namespace triptych::bindings
