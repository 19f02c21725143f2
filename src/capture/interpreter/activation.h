// One frame while our interpreter runs it: the position in its decoded code and its operand stack.
#pragma once

#include <Python.h>

#include "capture/interpreter/code_info.h"
#include "capture/interpreter/frame.h"
#include "capture/interpreter/reference.h"

namespace triptych::capture {

// What one instruction did.
enum class Flow : unsigned char {
  kNext,
  kJump,     // to the instruction's target
  kRaise,    // an exception is set; this frame joins its traceback
  kReraise,  // an exception is set that went through this frame before
  kLeave,  // nothing: CPython is to run this instruction and what follows. The stack is as it was.
};

class Activation {
 public:
  // The frame must be linked as the thread's current one, and stays so.
  Activation(PyThreadState* thread, Frame frame, const CodeInfo& info)
      : thread_(thread), frame_(frame), code_(frame.code()), info_(info), slots_(frame.slots()) {
    top_ = frame.stack() + frame.stack_depth();
    frame_.hide_stack();
  }

  PyThreadState* thread() const { return thread_; }
  Frame& frame() { return frame_; }
  PyCodeObject* code() const { return code_; }
  const CodeInfo& info() const { return info_; }
  const Instruction& instruction() const { return info_[index]; }

  void push(Owned value) { *top_++ = value.release(); }
  Owned pop() { return Owned::steal(*--top_); }
  Borrowed peek(int place = 1) const { return top_[-place]; }  // 1 is the top
  PyObject*& slot_from_top(int place) { return top_[-place]; }
  PyObject** operands(int count) { return top_ - count; }
  void forget(int count) { top_ -= count; }  // their references are somebody else's now
  void drop(int count) {
    while (count-- > 0) pop();
  }
  int depth() { return static_cast<int>(top_ - frame_.stack()); }

  Borrowed local(int slot) const { return slots_[slot]; }
  void set_local(int slot, Owned value) {
    const Owned old = Owned::steal(slots_[slot]);
    slots_[slot] = value.release();
  }
  Owned take_local(int slot) {
    Owned value = Owned::steal(slots_[slot]);
    slots_[slot] = nullptr;
    return value;
  }

  Borrowed name(int index) const { return PyTuple_GET_ITEM(code_->co_names, index); }
  Borrowed constant(int index) const { return PyTuple_GET_ITEM(code_->co_consts, index); }

  // The usual end of an instruction with one result.
  Flow push_result(PyObject* owned) {
    if (owned == nullptr) return Flow::kRaise;
    *top_++ = owned;
    return Flow::kNext;
  }

  // Where an exception raised now would be handled; null: in none of this frame's blocks.
  const Handler* handler() const { return info_.handler(raise_unit); }

  // What CPython does after calls and at backward jumps.
  Flow poll();

  std::int32_t index = 0;       // of the instruction
  std::int32_t raise_unit = 0;  // which unit's handler an exception looks for
  bool stop = false;            // leave at the next boundary: a tool watches now
  bool asked = false;           // the observer has chosen for the next boundary: it is passed
  Owned result;  // of a frame that the observer ends; null: the exception that is set

 private:
  PyThreadState* thread_;
  Frame frame_;
  PyCodeObject* code_;
  const CodeInfo& info_;
  PyObject** slots_;
  PyObject** top_;
};

}  // namespace triptych::capture
