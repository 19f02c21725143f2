#include "capture/interpreter/frame_entry.h"

#include <algorithm>

#include "capture/interpreter/cpython.h"

namespace triptych::capture {

bool can_be_copied(const Frame& frame) {
  constexpr int kResumable = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const PyCodeObject* code = frame.code();
  // A function may have got other code since.
  return !frame.owned_by_generator() && !(code->co_flags & kResumable) && !frame.incomplete() &&
         frame.function()->func_code == reinterpret_cast<const PyObject*>(code);
}

// A frame object would show that the frame is another one.
bool can_be_moved(const Frame& frame) { return can_be_copied(frame) && !frame.has_frame_object(); }

FrameState take_state(Frame& frame) {
  FrameState state;
  state.function = Owned::copy(reinterpret_cast<PyObject*>(frame.function()));
  state.locals_mapping = Owned::copy(frame.locals_mapping());
  state.unit = frame.resume_unit();
  for (int k = 0; k < frame.slot_count(); ++k) {
    state.slots.push_back(Owned::steal(std::exchange(frame.slots()[k], nullptr)));
  }
  for (int k = 0; k < frame.stack_depth(); ++k) {
    state.stack.push_back(Owned::steal(std::exchange(frame.stack()[k], nullptr)));
  }
  frame.set_stack_depth(0);
  return state;
}

void apply_state(Frame& frame, FrameState state) {
  for (std::size_t k = 0; k < state.slots.size(); ++k) {
    const Owned old = Owned::steal(frame.slots()[k]);
    frame.slots()[k] = state.slots[k].release();
  }
  int depth = 0;
  for (Owned& value : state.stack) frame.stack()[depth++] = value.release();
  frame.set_stack_depth(depth);
  if (frame.locals_mapping() || state.locals_mapping) {
    frame.set_locals_mapping(std::move(state.locals_mapping));
  }
  frame.set_resume(state.unit);
}

namespace {

// How a function that nobody touched is called. A function's own entry may have been replaced, and
// need not make a frame.
vectorcallfunc plain_function_call() {
  static vectorcallfunc call = nullptr;
  if (call != nullptr) return call;
  const Owned code = Owned::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "", 1)));
  const Owned globals = Owned::steal(PyDict_New());
  if (!code || !globals) return nullptr;
  const Owned function = Owned::steal(PyFunction_New(code.get(), globals.get()));
  if (function) call = reinterpret_cast<PyFunctionObject*>(function.get())->vectorcall;
  return call;
}

}  // namespace

Owned call_for_frame(Borrowed function) {
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
  const Py_ssize_t positional = code->co_argcount;
  const Py_ssize_t keywords = code->co_kwonlyargcount;
  constexpr Py_ssize_t kFew = 16;
  PyObject* few[kFew];
  std::vector<PyObject*> many(positional + keywords > kFew ? positional + keywords : 0);
  PyObject** const arguments = many.empty() ? few : many.data();
  std::fill_n(arguments, positional + keywords, Py_None);
  Owned names;
  if (keywords > 0) {
    names = Owned::steal(PyTuple_New(keywords));
    if (!names) return {};
    for (Py_ssize_t k = 0; k < keywords; ++k) {
      PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, positional + k);
      PyTuple_SET_ITEM(names.get(), k, Py_NewRef(name));
    }
  }
  const vectorcallfunc call = plain_function_call();
  if (call == nullptr) return {};
  return Owned::steal(call(function, arguments, positional, names.get()));
}

}  // namespace triptych::capture
