// A real CPython frame, whatever its struct looks like in this version. Positions are code units.
//
// What a position means differs by version (see docs/capture_interpreter.md); here it is always one
// of three states: executing a unit, resuming at a unit, or raising at a unit.
#pragma once

#include <Python.h>

#include "capture/interpreter/reference.h"

struct _PyInterpreterFrame;

namespace triptych::capture {

// Whether an import works where these are the builtins: code may be run with a few names only.
bool can_import(Borrowed builtins);

class Frame {
 public:
  explicit Frame(_PyInterpreterFrame* frame) : frame_(frame) {}
  _PyInterpreterFrame* get() const { return frame_; }

  PyCodeObject* code() const;
  PyFunctionObject* function() const;
  Borrowed globals() const;
  Borrowed builtins() const;
  Borrowed locals_mapping() const;  // of a class body or a module; null in functions
  void set_locals_mapping(Owned mapping);

  // Locals, cells and free variables, then the operand stack.
  PyObject** slots() const;
  int slot_count() const;    // without the stack
  PyObject** stack() const;  // its bottom
  // While a frame runs its depth is hidden, so that the cycle collector does not look at a stack
  // that moves.
  int stack_depth() const;
  void set_stack_depth(int depth);
  void hide_stack();

  int resume_unit() const;  // where the evaluator is to go on
  int executing_unit() const;
  void set_executing(int unit);
  void set_resume(int unit);
  // Before handing over with an exception set: CPython looks for a handler of `unit`.
  void set_raised(int unit);
  // A frame object kept alive by a traceback shows the position; CPython 3.13 leaves it one unit
  // too far when an exception was handed over.
  static void correct_position(PyFrameObject* object, int unit);

  // Before the first RESUME: invisible to Python code.
  bool incomplete() const;
  bool owned_by_generator() const;
  bool has_frame_object() const;
  Owned frame_object() const;  // made when there is none

  // Makes it the thread's current frame, or its caller again.
  void link(PyThreadState* thread);
  void unlink(PyThreadState* thread);

  // Ends a frame that must not run on: its caller gets `result` (null: the exception that is set).
  // Its stack is empty, and no generator owns it.
  PyObject* finish(PyThreadState* thread, Owned result);

 private:
  _PyInterpreterFrame* frame_;
};

}  // namespace triptych::capture
