// The graph of a capture: which value each fake tensor is, and the nodes in order.
#pragma once

#include <Python.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/region/capture_result.h"
#include "capture/trace/library.h"

namespace triptych::capture {

class Recorder {
 public:
  Recorder(CaptureResult& result, const Library& known) : result_(result), known_(known) {}

  // A real tensor's fake: an input of the graph from its first use on. Fakes stay alive.
  void add_real(PyObject* fake, PyObject* real, SourceId source);
  bool is_real(PyObject* fake) const;
  SourceId source_of(PyObject* fake) const;
  bool is_value(PyObject* fake) const { return values_.contains(fake); }
  // Null: nobody has logged what made this tensor.
  std::optional<NodeArgument> argument(PyObject* fake);
  // Adds a node; the tensors in its value are its results, unless they are known already.
  void add(CapturedNode node, Owned value);
  const std::vector<PyObject*>& inputs_used() const { return used_; }

 private:
  struct Value {
    enum class Kind : std::uint8_t { kReal, kInput, kNode, kElement };
    Kind kind = Kind::kReal;
    std::uint32_t index = 0;     // an input, a node, or a place in reals_
    PyObject* parent = nullptr;  // of an element: the container, or an element of it
    Owned key;
  };
  struct Real {
    SourceId source;
    bool is_parameter, is_buffer;
  };

  void bind(PyObject* value, Value place);
  std::uint32_t input_for(PyObject* fake, Value& value);
  std::uint32_t element_node(PyObject* value);

  CaptureResult& result_;
  const Library& known_;
  std::unordered_map<PyObject*, Value> values_;
  std::vector<Real> reals_;
  std::vector<Owned> kept_;
  std::vector<PyObject*> used_;  // fakes of the inputs
};

}  // namespace triptych::capture
