#include "capture/interpreter/frame.h"

#include <opcode.h>
#include "capture/interpreter/cpython.h"

namespace triptych::capture {
namespace {

_Py_CODEUNIT* first_unit(PyCodeObject* code) {
  return reinterpret_cast<_Py_CODEUNIT*>(code->co_code_adaptive);
}

// 3.11 and 3.12 keep the unit before the next one, 3.13 the unit itself.
#if PY_VERSION_HEX >= 0x030d0000
_Py_CODEUNIT*& position(_PyInterpreterFrame* frame) { return frame->instr_ptr; }
constexpr int kResumeOffset = 0;
constexpr int kRaisedOffset = 1;
#else
_Py_CODEUNIT*& position(_PyInterpreterFrame* frame) { return frame->prev_instr; }
constexpr int kResumeOffset = -1;
constexpr int kRaisedOffset = 0;
#endif

_PyInterpreterFrame*& current_frame(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030d0000
  return thread->current_frame;
#else
  return thread->cframe->current_frame;
#endif
}

}  // namespace

bool can_import(Borrowed builtins) {
  return builtins && PyDict_Check(builtins) &&
         PyDict_GetItemString(builtins, "__import__") != nullptr;
}

PyCodeObject* Frame::code() const {
#if PY_VERSION_HEX >= 0x030d0000
  return reinterpret_cast<PyCodeObject*>(frame_->f_executable);
#else
  return frame_->f_code;
#endif
}

PyFunctionObject* Frame::function() const {
#if PY_VERSION_HEX >= 0x030c0000
  return reinterpret_cast<PyFunctionObject*>(frame_->f_funcobj);
#else
  return frame_->f_func;
#endif
}

Borrowed Frame::globals() const { return frame_->f_globals; }
Borrowed Frame::builtins() const { return frame_->f_builtins; }
Borrowed Frame::locals_mapping() const { return frame_->f_locals; }

void Frame::set_locals_mapping(Owned mapping) {
  const Owned old = Owned::steal(frame_->f_locals);
  frame_->f_locals = mapping.release();
}

PyObject** Frame::slots() const { return frame_->localsplus; }
int Frame::slot_count() const { return code()->co_nlocalsplus; }
PyObject** Frame::stack() const { return frame_->localsplus + slot_count(); }
int Frame::stack_depth() const { return frame_->stacktop - slot_count(); }
void Frame::set_stack_depth(int depth) { frame_->stacktop = slot_count() + depth; }
void Frame::hide_stack() { frame_->stacktop = -1; }

int Frame::resume_unit() const {
  return static_cast<int>(position(frame_) - first_unit(code())) - kResumeOffset;
}

int Frame::executing_unit() const {
  return static_cast<int>(position(frame_) - first_unit(code()));
}

void Frame::set_executing(int unit) { position(frame_) = first_unit(code()) + unit; }
void Frame::set_resume(int unit) { position(frame_) = first_unit(code()) + unit + kResumeOffset; }
void Frame::set_raised(int unit) { position(frame_) = first_unit(code()) + unit + kRaisedOffset; }

void Frame::correct_position(PyFrameObject* object, int unit) {
  _PyInterpreterFrame* frame = object->f_frame;
  Frame(frame).set_executing(unit);
}

bool Frame::incomplete() const { return _PyFrame_IsIncomplete(frame_); }
bool Frame::owned_by_generator() const { return frame_->owner == FRAME_OWNED_BY_GENERATOR; }
bool Frame::has_frame_object() const { return frame_->frame_obj != nullptr; }

Owned Frame::frame_object() const {
  if (frame_->frame_obj != nullptr) {
    return Owned::copy(reinterpret_cast<PyObject*>(frame_->frame_obj));
  }
  // The function that makes one is private; asking for the thread's current frame does the same.
  PyThreadState* thread = PyThreadState_Get();
  if (current_frame(thread) != frame_) return {};
  return Owned::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(thread)));
}

void Frame::link(PyThreadState* thread) {
  frame_->previous = current_frame(thread);
  current_frame(thread) = frame_;
}

void Frame::unlink(PyThreadState* thread) {
  current_frame(thread) = frame_->previous;
  frame_->previous = nullptr;
}

PyObject* Frame::finish(PyThreadState* thread, Owned result) {
#if PY_VERSION_HEX < 0x030c0000
  static_cast<void>(thread);
  set_stack_depth(0);
  return result.release();  // the caller clears the frame
#else
  // The frame's own evaluator clears it, and only CPython can: it runs one instruction of ours in
  // its place.
  static _Py_CODEUNIT instructions[3] = {};
  instructions[1].op.code = RETURN_VALUE;
  // Who has looked at the frame meanwhile goes on seeing it where it ended.
  const Owned object = has_frame_object() ? frame_object() : Owned();
  const int unit = executing_unit();
  // A tracer that has come meanwhile must not hear of it: for the program this frame ended before.
  PyThreadState_EnterTracing(thread);
  PyObject* returned = nullptr;
  if (result) {
    *stack() = result.release();
    set_stack_depth(1);
    position(frame_) = instructions + 1 + kResumeOffset;
    returned = _PyEval_EvalFrameDefault(thread, frame_, 0);
  } else {
    // Before the first unit no handler applies, and no traceback entry is made.
    set_stack_depth(0);
    position(frame_) = first_unit(code()) - 1;
    returned = _PyEval_EvalFrameDefault(thread, frame_, 1);
  }
  PyThreadState_LeaveTracing(thread);
  if (object) correct_position(reinterpret_cast<PyFrameObject*>(object.get()), unit);
  return returned;
#endif
}

}  // namespace triptych::capture
