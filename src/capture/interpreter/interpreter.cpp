#include "capture/interpreter/interpreter.h"

#include "capture/interpreter/cpython.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture {
namespace {

void join_traceback(Activation& a) {
  if (a.frame().incomplete()) return;
  const Owned object = a.frame().frame_object();
  if (!object) return;
  PyTraceBack_Here(reinterpret_cast<PyFrameObject*>(object.get()));
  if (!watched_by_tool(a.thread(), a.code())) return;
  // A tool came during the instruction: it hears of the exception, and CPython runs the handler.
  tell_tracer_of_exception(a.thread(), object.borrow());
  a.stop = true;
}

// Goes on at the handler of the exception that is set. False: there is none in this frame.
bool handle_exception(Activation& a, bool joins_traceback) {
  const Handler* handler = a.handler();
  if (handler == nullptr) return false;
  if (joins_traceback) join_traceback(a);
  Owned exception = take_raised_exception();
  a.drop(a.depth() - handler->depth);
  if (handler->push_unit) a.push(Owned::steal(PyLong_FromLong(a.frame().executing_unit())));
  a.push(std::move(exception));
  a.index = a.info().index_at(handler->target);
  return true;
}

bool at_choice(Activation& a, const Instruction& instruction, Observer* observer, Exit& exit,
               Statistics& statistics) {
  if (a.stop) {
    exit = Exit::kLeave;
    ++statistics.native;
    return true;
  }
  if (observer == nullptr) return false;
  switch (observer->at_boundary(a, instruction)) {
    case Choice::kInterpret:
      return false;
    case Choice::kDelegate:
      ++statistics.chosen;
      exit = Exit::kLeave;
      return true;
    case Choice::kSegment:
      exit = Exit::kSegment;
      return true;
    case Choice::kMove:
      exit = Exit::kMove;
      return true;
    case Choice::kReturn:
      exit = Exit::kReturn;
      return true;
  }
  return false;
}

}  // namespace

Exit interpret(Activation& a, bool raised, Observer* observer, Statistics& statistics) {
  if (raised) {
    if (!handle_exception(a, true)) return Exit::kUnwind;
    ++statistics.handled;
  }
  Exit exit = Exit::kLeave;
  while (true) {
    const Instruction& instruction = a.instruction();
    if ((observer != nullptr || a.stop) && instruction.boundary) [[unlikely]] {
      const bool asked = std::exchange(a.asked, false);
      if (!asked && at_choice(a, instruction, observer, exit, statistics)) return exit;
    }
    if (!kOpLeaves[static_cast<int>(instruction.op)]) {
      a.frame().set_executing(instruction.unit);
      a.raise_unit = instruction.unit;
    }
    ++statistics.instructions;
    const Flow flow =
        observer == nullptr ? semantics::run(a, instruction) : observer->execute(a, instruction);
    switch (flow) {
      case Flow::kNext:
        ++a.index;
        break;
      case Flow::kJump:
        a.index = instruction.target;
        break;
      case Flow::kRaise:
      case Flow::kReraise:
        if (!handle_exception(a, flow == Flow::kRaise)) return Exit::kUnwind;
        ++statistics.handled;
        break;
      case Flow::kLeave:
        ++statistics.handed_over[static_cast<int>(instruction.op)];
        return Exit::kLeave;
    }
  }
}

}  // namespace triptych::capture
