#include "capture/interpreter/evaluator.h"

#include <optional>

#include "capture/interpreter/cpython.h"
#include "capture/interpreter/interpreter.h"
#include "capture/interpreter/native_code.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture {

// CPython calls a plain function pointer: what is installed is state of the process, here and
// nowhere else. It changes only with the GIL held.
class Evaluator {
  // The state for the next frame that the thread enters of the state's function.
  struct Pending {
    FrameState* state;
    PyThreadState* thread;
    _PyFrameEvalFunction found;
  };

 public:
  static Evaluator& instance() {
    static Evaluator evaluator;
    return evaluator;
  }

  static PyObject* evaluate(PyThreadState* thread, _PyInterpreterFrame* frame, int raised) {
    return instance().evaluate_frame(thread, Frame(frame), raised != 0);
  }

  bool open(InterpreterScope& scope) {
    PyThreadState* thread = PyThreadState_Get();
    if (scope_ != nullptr && thread_ != thread) return false;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) return false;
    scope.outer_ = scope_;
    scope_ = &scope;
    thread_ = thread;
    scope.found_ = install();
    return true;
  }

  void close(InterpreterScope& scope) {
    scope_ = scope.outer_;
    if (scope_ == nullptr) thread_ = nullptr;
    uninstall(scope.found_);
  }

  // Each frame that is entered and then moved again returns here first: moves do not nest.
  Owned enter(FrameState state) {
    while (true) {
      Owned result = enter_once(std::move(state));
      if (!moved_on_) return result;
      state = std::move(*moved_on_);
      moved_on_.reset();
    }
  }

  bool installed() const {
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == evaluate;
  }

 private:
  Owned enter_once(FrameState state) {
    const Owned function = Owned::copy(state.function.get());
    Pending pending{&state, PyThreadState_Get(), install()};
    Pending* const outer = std::exchange(pending_, &pending);
    Owned result = call_for_frame(function.borrow());
    pending_ = outer;
    uninstall(pending.found);
    return result;
  }

  // The evaluator that was there, to be put back; null: it is ours already.
  _PyFrameEvalFunction install() {
    if (installed()) return nullptr;
    PyInterpreterState* interpreter = PyInterpreterState_Get();
    const _PyFrameEvalFunction found = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    // One that came on top of ours since may call ours: frames are passed on to the first only.
    if (installed_count_++ == 0) base_ = found;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    return found;
  }

  void uninstall(_PyFrameEvalFunction found) {
    if (found == nullptr) return;
    --installed_count_;
    // Somebody else's may be on top of ours now and call it: then ours stays, and passes every
    // frame on.
    if (installed()) _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), found);
  }

  PyObject* pass_on(PyThreadState* thread, Frame& frame, bool raised) {
    return base_ != nullptr ? base_(thread, frame.get(), raised)
                            : _PyEval_EvalFrameDefault(thread, frame.get(), raised);
  }

  PyObject* evaluate_frame(PyThreadState* thread, Frame frame, bool raised);
  PyObject* interpret_frame(PyThreadState* thread, Frame& frame, bool raised, bool entered);
  PyObject* unwind(PyThreadState* thread, Frame& frame, int raise_unit);
  PyObject* move(PyThreadState* thread, Frame& frame, bool entered);

  InterpreterScope* scope_ = nullptr;  // the innermost; null: nothing is traced
  PyThreadState* thread_ = nullptr;
  Pending* pending_ = nullptr;
  std::optional<FrameState> moved_on_;   // of an entered frame that moves again
  _PyFrameEvalFunction base_ = nullptr;  // what was there before any of ours
  int installed_count_ = 0;
};

PyObject* Evaluator::evaluate_frame(PyThreadState* thread, Frame frame, bool raised) {
  const bool entered =
      pending_ != nullptr && pending_->thread == thread && !raised &&
      reinterpret_cast<PyObject*>(frame.function()) == pending_->state->function.get();
  if (entered) {
    Pending* const pending = std::exchange(pending_, nullptr);
    apply_state(frame, std::move(*pending->state));
    if (scope_ == nullptr) {
      // Nothing is traced: what this frame calls is none of our business.
      uninstall(std::exchange(pending->found, nullptr));
      return _PyEval_EvalFrameDefault(thread, frame.get(), 0);
    }
  } else if (is_native_code(frame.code())) {
    return _PyEval_EvalFrameDefault(thread, frame.get(), raised);
  }
  if (scope_ == nullptr || thread_ != thread) return pass_on(thread, frame, raised);
  if (!raised && c_stack_is_short()) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    return _PyEval_EvalFrameDefault(thread, frame.get(), 1);
  }
  Observer* observer = scope_->observer_;
  if (observer != nullptr && !observer->enter(frame)) {
    ++scope_->statistics_.chosen;
    PyObject* result = pass_on(thread, frame, raised);
    observer->declined_left();
    return result;
  }
  const bool watched = watched_by_tool(thread, frame.code());
  if (watched || !enter_frame_level(thread)) {
    ++scope_->statistics_.native;
    const bool refused = watched && !raised && observer != nullptr && observer->refuses_native();
    return _PyEval_EvalFrameDefault(thread, frame.get(), raised || refused);
  }
  return interpret_frame(thread, frame, raised, entered);
}

namespace {

#if PY_VERSION_HEX >= 0x030d0000
// Handing an exception over puts the frame one unit too far: the traceback's newest entry is this
// frame's.
void correct_traceback(PyThreadState* thread, PyCodeObject* code, int unit) {
  auto* exception = reinterpret_cast<PyBaseExceptionObject*>(thread->current_exception);
  if (exception == nullptr || exception->traceback == nullptr) return;
  auto* entry = reinterpret_cast<PyTracebackObject*>(exception->traceback);
  constexpr int kUnitBytes = sizeof(_Py_CODEUNIT);
  PyCodeObject* entry_code = PyFrame_GetCode(entry->tb_frame);
  Py_DECREF(entry_code);  // the frame keeps it
  if (entry_code != code || entry->tb_lasti != (unit + 1) * kUnitBytes) return;
  entry->tb_lasti = unit * kUnitBytes;
  entry->tb_lineno = PyCode_Addr2Line(code, unit * kUnitBytes);
  Frame::correct_position(entry->tb_frame, unit);
}
#endif

}  // namespace

PyObject* Evaluator::unwind(PyThreadState* thread, Frame& frame, int raise_unit) {
  ++scope_->statistics_.unwound;
#if PY_VERSION_HEX >= 0x030d0000
  static_cast<void>(raise_unit);
  const Owned code = Owned::copy(reinterpret_cast<PyObject*>(frame.code()));
  const int unit = frame.executing_unit();
  frame.set_raised(unit);
  PyObject* result = _PyEval_EvalFrameDefault(thread, frame.get(), 1);
  if (result == nullptr) {
    correct_traceback(thread, reinterpret_cast<PyCodeObject*>(code.get()), unit);
  }
  return result;
#else
  frame.set_raised(raise_unit);
  return _PyEval_EvalFrameDefault(thread, frame.get(), 1);
#endif
}

PyObject* Evaluator::move(PyThreadState* thread, Frame& frame, bool entered) {
  ++scope_->statistics_.moves;
  if (!entered) return frame.finish(thread, enter(take_state(frame)));
  moved_on_ = take_state(frame);
  return frame.finish(thread, Owned::copy(Py_None));
}

// Ends where CPython's evaluator takes the frame, which it clears and returns from.
PyObject* Evaluator::interpret_frame(PyThreadState* thread, Frame& frame, bool raised,
                                     bool entered) {
  bool asked = entered;
  // This scope outlives the frame; one that opens meanwhile closes before it goes on.
  Statistics& statistics = scope_->statistics_;
  Observer* const observer = scope_->observer_;
  ++statistics.frames;
  while (true) {
    const int unit = frame.resume_unit();
    const CodeInfo* info = CodeInfo::of(frame.code());
    if (info == nullptr) PyErr_Clear();
    const bool known = info != nullptr &&
                       (raised ? info->handler(unit - 1) != nullptr : info->index_at(unit) >= 0);
    if (!known) {
      leave_frame_level(thread);
      return _PyEval_EvalFrameDefault(thread, frame.get(), raised);
    }
    frame.link(thread);
    Activation activation(thread, frame, *info);
    activation.index = info->index_at(unit);
    activation.raise_unit = unit - 1;
    activation.asked = asked;
    const Exit exit = interpret(activation, raised, observer, statistics);
    if (observer != nullptr) observer->left(activation, exit);
    if (exit == Exit::kReturn) activation.drop(activation.depth());
    frame.set_stack_depth(activation.depth());
    frame.unlink(thread);
    if (exit == Exit::kUnwind) {
      leave_frame_level(thread);
      return unwind(thread, frame, activation.raise_unit);
    }
    if (exit == Exit::kReturn) {
      ++statistics.returns;
      leave_frame_level(thread);
      return frame.finish(thread, std::move(activation.result));
    }
    frame.set_resume(activation.instruction().start);
    if (exit == Exit::kLeave) {
      leave_frame_level(thread);
      return _PyEval_EvalFrameDefault(thread, frame.get(), 0);
    }
    if (exit == Exit::kMove && can_be_moved(frame)) {
      leave_frame_level(thread);
      return move(thread, frame, entered);
    }
    ++statistics.segments;
    raised = false;
    asked = true;
  }
}

InterpreterScope::InterpreterScope(Observer* observer) : observer_(observer) {
  active_ = Evaluator::instance().open(*this);
}

InterpreterScope::~InterpreterScope() {
  if (active_) Evaluator::instance().close(*this);
}

Owned enter_frame(FrameState state) { return Evaluator::instance().enter(std::move(state)); }

bool evaluator_installed() { return Evaluator::instance().installed(); }

}  // namespace triptych::capture
