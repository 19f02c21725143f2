// What looks on while frames are interpreted, and may act. Without one the interpreter only runs
// the program.
#pragma once

#include "capture/interpreter/activation.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture {

// Why the interpreter stopped running a frame. The activation says where.
enum class Exit : unsigned char {
  kLeave,    // CPython is to go on at the activation's instruction
  kUnwind,   // an exception is set that no block of this frame handles
  kSegment,  // the observer's choice
  kMove,     // the observer's choice
  kReturn,   // the observer's choice
};

enum class Choice : unsigned char {
  kInterpret,
  kDelegate,  // CPython's evaluator runs the frame from here on
  kSegment,   // stop here; everything goes back into the real frame, which is then entered anew
  kMove,      // go on in a fresh frame of the same function; as kSegment where the frame cannot be
              // moved
  kReturn,    // the frame ends here: its caller gets the activation's `result`. Only of a frame
              // that can be moved
};

class Observer {
 public:
  virtual ~Observer() = default;

  // A frame is about to be interpreted from its first instruction, or resumed. False: CPython runs
  // it.
  virtual bool enter(const Frame&) { return true; }
  // A frame that `enter` accepted cannot be interpreted, because a tool watches it. False: it runs
  // natively; true: it must not run, and the exception that is set is raised from it.
  virtual bool refuses_native() { return false; }
  // A frame that `enter` declined has returned, been suspended, or raised.
  virtual void declined_left() {}
  // Before an instruction at which CPython could go on, the leaving ones included.
  virtual Choice at_boundary(Activation&, const Instruction&) { return Choice::kInterpret; }
  // Around one instruction: operands are on the stack before, results after. May do it another way.
  virtual Flow execute(Activation& activation, const Instruction& instruction) {
    return semantics::run(activation, instruction);
  }
  // The interpreter stops running the frame. A generator's is entered again when it is resumed, a
  // segment's at once.
  virtual void left(Activation&, Exit) {}
};

}  // namespace triptych::capture
