// What the tracer needs from Python, without knowing Python. The Python bridge implements it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "ir/graph.h"

namespace triptych::normalize {

class NodeRunner {
 public:
  virtual ~NodeRunner() = default;

  // Runs the program on traced inputs; its outputs are tensors, numbers, None, strings. Exceptions
  // pass through.
  virtual std::vector<c10::IValue> run_program(const std::vector<c10::IValue>& inputs) = 0;

  // The caller's decomposition of an op if there is one, else PyTorch's Python one. Both are looked
  // up once per op.
  virtual bool has_caller_decomposition(const c10::OperatorHandle& op) = 0;
  virtual bool has_python_decomposition(const c10::OperatorHandle& op) = 0;
  // Replaces the arguments on the stack by the results. False: the decomposition declined
  // (NotImplemented).
  virtual bool run_decomposition(const c10::OperatorHandle& op, torch::jit::Stack* stack) = 0;

  // The symbolic number behind a wrapped number that torch's argument parser made of one (`tensor *
  // size`): the tensor itself holds only a placeholder. None when there is none.
  virtual c10::IValue symbolic_number(const at::Tensor& wrapped) = 0;

  // Where the program is now, as a small number to be resolved at the end; -1 when unknown. Called
  // for each op.
  virtual int current_location() = 0;
  struct Resolved {
    ir::SourceLocation location;
    std::string origin;
  };
  virtual Resolved resolve_location(int location) = 0;

  // Raises the exception by which programs that look at data are told apart.
  [[noreturn]] virtual void raise_data_dependent(const std::string& op) = 0;

  // Forgets the exception that run_program threw.
  virtual void discard_exception() = 0;
};

}  // namespace triptych::normalize
