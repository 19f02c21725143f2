// Entering a frame in the middle: a fresh real frame of a function, at any instruction boundary,
// with given variables and operand stack. It runs the function's own code object, so its exception
// table, lines and names hold.
#pragma once

#include <Python.h>

#include <vector>

#include "capture/interpreter/frame.h"
#include "capture/interpreter/reference.h"

namespace triptych::capture {

struct FrameState {
  Owned function;
  Owned locals_mapping;      // of a class body or module; null in functions
  std::vector<Owned> slots;  // locals, cells (as cells) and free variables; null: unbound
  std::vector<Owned> stack;  // from the bottom; null where CPython has a null
  int unit = 0;              // where to go on
};

// Generators and coroutines live in their frame: those cannot be entered from outside.
bool can_be_copied(const Frame& frame);
// Nor may anybody look at a frame that is to be replaced by another.
bool can_be_moved(const Frame& frame);

// Takes everything out of the frame, which is left empty; only `Frame::finish` may follow.
FrameState take_state(Frame& frame);

// The fresh frame's evaluator calls this before the first instruction.
void apply_state(Frame& frame, FrameState state);

// Calls the function with as many arguments as it needs, whatever they are: the result of the frame
// that was made.
Owned call_for_frame(Borrowed function);

}  // namespace triptych::capture
