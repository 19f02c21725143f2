// The evaluator of frames (PEP 523): installed only while something is traced, for the tracing
// thread only. One that was there before gets every other frame, and comes back afterwards.
#pragma once

#include <Python.h>

#include "capture/interpreter/frame_entry.h"
#include "capture/interpreter/observer.h"
#include "capture/interpreter/statistics.h"

namespace triptych::capture {

// Frames that the constructing thread enters while this lives are interpreted. Scopes of one thread
// nest, the innermost counts. `active` is false where nothing can be interpreted: while another
// thread is, and in subinterpreters.
class InterpreterScope {
 public:
  explicit InterpreterScope(Observer* observer = nullptr);
  ~InterpreterScope();
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;

  bool active() const { return active_; }
  const Statistics& statistics() const { return statistics_; }

 private:
  friend class Evaluator;
  InterpreterScope* outer_ = nullptr;
  _PyFrameEvalFunction found_ = nullptr;  // what to put back; null: ours was there already
  Observer* observer_;
  Statistics statistics_;
  bool active_ = false;
};

// Runs a fresh frame of the state's function from there on; its result. Interpreted within a scope;
// alone, natively.
Owned enter_frame(FrameState state);

// Our evaluator is the interpreter's current one.
bool evaluator_installed();

}  // namespace triptych::capture
