// Parts of a graph as Python sees them: read-only views that keep the graph alive.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "ir/graph.h"

namespace triptych::bindings {

using GraphPtr = std::shared_ptr<ir::Graph>;

struct ValueView {
  GraphPtr graph;
  ir::ValueId id;
  const ir::Value& get() const { return graph->value(id); }
};
struct NodeView {
  GraphPtr graph;
  ir::NodeId id;
  const ir::Node& get() const { return graph->node(id); }
};
struct InputView {
  GraphPtr graph;
  std::size_t index;
  const ir::Input& get() const { return graph->inputs().at(index); }
};
struct OutputView {
  GraphPtr graph;
  std::size_t index;
  const ir::Output& get() const { return graph->outputs().at(index); }
};
struct MutationView {
  GraphPtr graph;
  std::size_t index;
  const ir::Mutation& get() const { return graph->mutations().at(index); }
};

// Literals become Python's and torch's own objects (torch.float32, torch.device, slice, Ellipsis);
// values become ValueView, symbolic integers SymExpr.
nanobind::object to_python(const GraphPtr& graph, const ir::Argument& argument);
nanobind::object to_python(const GraphPtr& graph, ir::ValueId value);  // None when there is none
nanobind::object to_python(const ir::SymExpr& e);  // an int when it is a constant
nanobind::list to_python(const std::vector<ir::SymExpr>& list);
nanobind::object to_python(ir::DType dtype);
nanobind::object to_python(const ir::Device& device);
nanobind::object to_python(const ir::ValueType& type);

}  // namespace triptych::bindings
