#include "capture/trace/recorder.h"

#include <utility>

namespace triptych::capture {

static NodeArgument node_argument(NodeArgument::Kind kind, std::uint32_t index) {
  NodeArgument argument;
  argument.kind = kind;
  argument.index = index;
  return argument;
}

void Recorder::add_real(PyObject* fake, PyObject* real, SourceId source) {
  Value value;
  value.index = static_cast<std::uint32_t>(reals_.size());
  reals_.push_back({source, Py_TYPE(real) == known_.parameter, Py_TYPE(real) == known_.buffer});
  kept_.push_back(Owned::copy(fake));
  values_[fake] = std::move(value);
}

bool Recorder::is_real(PyObject* fake) const {
  const auto found = values_.find(fake);
  return found != values_.end() &&
         (found->second.kind == Value::Kind::kReal || found->second.kind == Value::Kind::kInput);
}

std::uint32_t Recorder::input_for(PyObject* fake, Value& value) {
  const Real& real = reals_[value.index];
  GraphInput input;
  input.source = real.source;
  input.is_parameter = real.is_parameter;
  input.is_buffer = real.is_buffer;
  input.example = Owned::copy(fake);
  value.kind = Value::Kind::kInput;
  value.index = static_cast<std::uint32_t>(result_.inputs.size());
  result_.inputs.push_back(std::move(input));
  used_.push_back(fake);
  return value.index;
}

SourceId Recorder::source_of(PyObject* fake) const {
  const Value& value = values_.at(fake);
  return value.kind == Value::Kind::kReal ? reals_[value.index].source
                                          : result_.inputs[value.index].source;
}

// The element of a node's result, by a `getitem` node made at its first use.
std::uint32_t Recorder::element_node(PyObject* object) {
  Value& value = values_.at(object);
  if (value.kind == Value::Kind::kNode) return value.index;
  CapturedNode node;
  node.target = Owned::copy(known_.operator_getitem);
  const std::uint32_t whole = element_node(value.parent);
  const CapturedNode& made = result_.nodes[whole];
  node.file = made.file;
  node.line = made.line;
  node.module_path = made.module_path;
  node.arguments.push_back(node_argument(NodeArgument::Kind::kNode, whole));
  NodeArgument key;
  key.object = Owned::copy(value.key.get());
  node.arguments.push_back(std::move(key));
  node.example = Owned::copy(object);
  value.kind = Value::Kind::kNode;
  value.index = static_cast<std::uint32_t>(result_.nodes.size());
  result_.nodes.push_back(std::move(node));
  return value.index;
}

std::optional<NodeArgument> Recorder::argument(PyObject* fake) {
  const auto found = values_.find(fake);
  if (found == values_.end()) return std::nullopt;
  switch (found->second.kind) {
    case Value::Kind::kReal:
      return node_argument(NodeArgument::Kind::kInput, input_for(fake, found->second));
    case Value::Kind::kInput:
      return node_argument(NodeArgument::Kind::kInput, found->second.index);
    case Value::Kind::kNode:
      return node_argument(NodeArgument::Kind::kNode, found->second.index);
    case Value::Kind::kElement:
      return node_argument(NodeArgument::Kind::kNode, element_node(fake));
  }
  return std::nullopt;
}

void Recorder::bind(PyObject* object, Value place) {
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  if (!is_sequence && Py_TYPE(object) != known_.tensor && !is_symbolic(known_, object)) return;
  if (values_.contains(object)) return;  // an op that returns what it was given
  kept_.push_back(Owned::copy(object));
  values_[object] = std::move(place);
  if (!is_sequence) return;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k) {
    Value element;
    element.kind = Value::Kind::kElement;
    element.parent = object;
    element.key = Owned::steal(PyLong_FromSsize_t(k));
    bind(PySequence_Fast_GET_ITEM(object, k), std::move(element));
  }
}

void Recorder::add(CapturedNode node, Owned value) {
  Value place;
  place.kind = Value::Kind::kNode;
  place.index = static_cast<std::uint32_t>(result_.nodes.size());
  bind(value.get(), std::move(place));
  node.example = std::move(value);
  result_.nodes.push_back(std::move(node));
}

}  // namespace triptych::capture
