// The Python side of a trace: calls the program, its decompositions, and says where in the user's
// code an op comes from.
#pragma once

#include <Python.h>

#include <unordered_map>
#include <vector>

#include "normalize/node_runner.h"
#include "python_bridge/python_values.h"

namespace triptych::python_bridge {

struct PythonProgram {  // borrowed references, which the caller keeps for the length of the trace
  PyObject* function =
      nullptr;  // called with the inputs, positional; returns a sequence of flat outputs
  PyObject* caller_table = nullptr;   // {"aten.gelu.default": function}, or null
  PyObject* default_table = nullptr;  // name -> function or None: PyTorch's own table
  // A program that runs a graph's nodes: a list whose only item is the index of the node that runs,
  // and index -> (file, line, module path, node name). Null for others.
  PyObject* position = nullptr;
  PyObject* resolve = nullptr;
  PyObject* is_library_file = nullptr;  // path -> bool: frames of such files are not the user's
};

class PythonRunner final : public normalize::NodeRunner {
 public:
  explicit PythonRunner(PythonProgram program) : program_(program) {}
  ~PythonRunner() override;

  std::vector<c10::IValue> run_program(const std::vector<c10::IValue>& inputs) override;
  bool has_caller_decomposition(const c10::OperatorHandle& op) override;
  bool has_python_decomposition(const c10::OperatorHandle& op) override;
  bool run_decomposition(const c10::OperatorHandle& op, torch::jit::Stack* stack) override;
  c10::IValue symbolic_number(const at::Tensor& wrapped) override;
  int current_location() override;
  Resolved resolve_location(int location) override;
  void raise_data_dependent(const std::string& op) override;
  void discard_exception() override;

 private:
  bool is_user_code(PyCodeObject* code);
  int running_node() const;
  Resolved resolve_node(int index);
  PyObject* find_decomposition(const c10::OperatorHandle& op);

  PythonProgram program_;
  std::unordered_map<std::string, PyObject*> decompositions_;  // owned; null: there is none
  struct Place {
    PyCodeObject* code;  // kept alive by user_code_
    int instruction;     // its offset in bytes
    friend bool operator==(const Place&, const Place&) = default;
  };
  std::vector<Place> places_;
  std::unordered_map<PyCodeObject*, bool> user_code_;  // owned keys
  std::unordered_map<int, Resolved> resolved_;
};

}  // namespace triptych::python_bridge
