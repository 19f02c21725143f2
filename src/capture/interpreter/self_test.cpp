#include "capture/interpreter/self_test.h"

#include "capture/interpreter/cpython.h"
#include "capture/interpreter/evaluator.h"
#include "capture/interpreter/native_code.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture {
namespace {

constexpr char kProbes[] = R"(
import sys

def plain(a, b=3):
    c = a * b
    return c, sys._getframe().f_code, locals()

def handles(a):
    try:
        return a[5]
    except IndexError as error:
        return error.__traceback__.tb_lineno - plain.__code__.co_firstlineno

def generates(n):
    got = yield n
    while got:
        got = yield got

def cells(a):
    def inner():
        return a + b
    b = 2
    return inner()

def consumes():
    generator = generates(1)
    return [next(generator), generator.send(7), next(generator, 'end')]

def middle(a):
    b = a + 1
    return [a, b, a * b]
)";

Error mismatch(std::string what) {
  return unsupported("capture.frame_layout", "frames of this CPython: " + std::move(what), {},
                     "triptych was built for CPython " PY_VERSION);
}

std::string raised_text() {
  const Owned exception = take_raised_exception();
  const Owned text = Owned::steal(PyObject_Str(exception.get()));
  const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return bytes != nullptr ? bytes : "an exception";
}

// Looks at the frame of `plain` before its first instruction.
class Inspector final : public Observer {
 public:
  explicit Inspector(Borrowed function, Borrowed argument)
      : function_(function), argument_(argument) {}

  bool enter(const Frame& frame) override {
    const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function_));
    if (frame.code() != code) return true;
    seen = true;
    if (reinterpret_cast<PyObject*>(frame.function()) != function_.get()) problem = "the function";
    if (frame.globals().get() != PyFunction_GetGlobals(function_)) problem = "the globals";
    if (frame.slots()[0] != argument_.get()) problem = "the arguments";
    if (frame.stack_depth() != 0) problem = "the stack's depth";
    if (frame.resume_unit() != 0) problem = "the position";
    if (frame.owned_by_generator() || frame.has_frame_object()) problem = "the owner";
    return problem.empty();
  }

  bool seen = false;
  std::string problem;

 private:
  Borrowed function_;
  Borrowed argument_;
};

Owned probe(Borrowed globals, const char* expression) {
  return Owned::steal(PyRun_String(expression, Py_eval_input, globals, globals));
}

Status check_plain(Borrowed globals) {
  const Borrowed function = PyDict_GetItemString(globals, "plain");
  const Owned argument = Owned::steal(PyLong_FromLong(123456));
  Inspector inspector(function, argument.borrow());
  InterpreterScope scope(&inspector);
  if (!scope.active()) return Unit{};  // another thread is being traced: its import has tested
  const Owned result = Owned::steal(PyObject_CallOneArg(function, argument.get()));
  if (!inspector.seen) return mismatch("the evaluator was not called");
  if (!inspector.problem.empty()) return mismatch(inspector.problem + " is not where expected");
  if (!result) return mismatch("a call failed: " + raised_text());
  if (scope.statistics().frames != 1) return mismatch("a frame was not interpreted");
  PyDict_SetItemString(globals, "__result", result.get());
  return Unit{};
}

struct Expectation {
  const char* what;
  const char* expression;
};

constexpr Expectation kExpectations[] = {
    {"variables and the frame's place in the stack",
     "__result == (370368, plain.__code__, {'a': 123456, 'b': 3, 'c': 370368})"},
    {"an exception's handler and line", "handles([]) == 6"},
    {"a generator's frame", "consumes() == [1, 7, 'end']"},
    {"cells", "cells(40) == 42"},
};

Status check_expressions(Borrowed globals) {
  InterpreterScope scope;
  for (const Expectation& expectation : kExpectations) {
    const Owned right = probe(globals, expectation.expression);
    if (!right) return mismatch(std::string(expectation.what) + ": " + raised_text());
    if (right.get() != Py_True) return mismatch(std::string(expectation.what) + " went wrong");
  }
  return Unit{};
}

// Enters `middle` at the addition of a and 1, which are on the stack already.
Status check_entry(Borrowed globals) {
  const Borrowed function = PyDict_GetItemString(globals, "middle");
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
  const CodeInfo* info = CodeInfo::of(code);
  if (info == nullptr) return mismatch("its code cannot be read: " + raised_text());
  FrameState state;
  state.function = Owned::copy(function);
  state.slots.push_back(Owned::steal(PyLong_FromLong(10)));
  state.slots.emplace_back();
  state.stack.push_back(Owned::steal(PyLong_FromLong(10)));
  state.stack.push_back(Owned::steal(PyLong_FromLong(5)));
  for (const Instruction& instruction : info->instructions()) {
    if (instruction.op != Op::kBinaryOp) continue;
    state.unit = instruction.start;
    break;
  }
  const Owned result = enter_frame(std::move(state));
  if (!result) return mismatch("entering in the middle failed: " + raised_text());
  PyDict_SetItemString(globals, "__result", result.get());
  const Owned right = probe(globals, "__result == [10, 15, 150]");
  if (!right || right.get() != Py_True) return mismatch("entering in the middle went wrong");
  return Unit{};
}

}  // namespace

Status self_test() { return self_test_with(kProbes); }

Status self_test_with(const char* probes) {
  const long running = static_cast<long>(Py_Version >> 16);
  if (running != (PY_VERSION_HEX >> 16)) return mismatch("another minor version");
  const Owned globals = Owned::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  const Owned made =
      Owned::steal(PyRun_String(probes, Py_file_input, globals.get(), globals.get()));
  if (!made) return mismatch("the probes do not run: " + raised_text());
  PyThreadState* thread = PyThreadState_Get();
  if (watched_by_tool(thread, reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(
                                  PyDict_GetItemString(globals.get(), "plain"))))) {
    return Unit{};  // nothing would be interpreted; a later scope is not either, while the tool is
                    // there
  }
  TRIPTYCH_TRY([[maybe_unused]] Unit plain, check_plain(globals.borrow()));
  TRIPTYCH_TRY([[maybe_unused]] Unit expressions, check_expressions(globals.borrow()));
  TRIPTYCH_TRY([[maybe_unused]] Unit entry, check_entry(globals.borrow()));
  // It also makes the code that runs there: while something is pending, making it would be a place
  // where that happens (a hook that hears of new code objects has a frame).
  if (!run_interrupt_point()) return mismatch("a look at pending calls: " + raised_text());
  if (evaluator_installed()) return mismatch("the evaluator stayed installed");
  return Unit{};
}

}  // namespace triptych::capture
