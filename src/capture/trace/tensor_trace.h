// The tensors of a capture: fakes in place of real ones, through which torch runs natively. Opens a
// trace of stage 2 that records nothing; the thread's dispatch state is as before afterwards.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/interpreter/reference.h"
#include "ir/graph.h"
#include "support/result.h"

namespace triptych::capture {

class TensorTrace {
 public:
  // `default_table`: name -> PyTorch's own Python decomposition of an op, or None.
  static Result<std::unique_ptr<TensorTrace>> open(Borrowed default_table);
  ~TensorTrace();
  TensorTrace(const TensorTrace&) = delete;
  TensorTrace& operator=(const TensorTrace&) = delete;

  using Symbols = std::vector<std::pair<std::int64_t, std::string>>;  // (dimension, name)
  // A plain torch.Tensor with the metadata of a real one and no data. Null: an exception is set.
  Owned fake(PyObject* real, const Symbols& symbols);
  // A torch.SymInt: a new symbol.
  Owned symbolic_integer(const std::string& name, std::int64_t hint);
  // What must hold between the symbols for the trace to be right.
  std::vector<ir::SymGuard> relations() const;
  // Why a tensor cannot be replaced by a fake, if so.
  static std::optional<Error> refusal(PyObject* real);
  static bool is_fake(PyObject* tensor);
  // Of an input of a graph: a fake, or a symbolic integer.
  static bool requires_grad(PyObject* input);
  // How often it was written in place since it was made.
  static std::int64_t writes(PyObject* input);

  // How many ops have come so far: one that nobody logged was called behind the tracer's back.
  std::uint64_t ops() const;
  // Whether one of them draws random numbers.
  bool draws() const;
  // While it lives, torch runs as outside of the trace.
  class Pause {
   public:
    explicit Pause(TensorTrace& trace);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    struct Keys;
    std::unique_ptr<Keys> keys_;
  };

  // Whether the program has left grad mode another than it found it, and other modes.
  bool grad_mode_changed() const;
  bool other_modes_changed() const;
  static bool grad_mode();
  // The reason why an op could not be traced, since the last call.
  static std::optional<Error> take_refusal();

 private:
  struct State;
  explicit TensorTrace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace triptych::capture
