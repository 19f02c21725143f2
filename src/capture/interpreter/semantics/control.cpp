// Jumps and loops.
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture {

Flow Activation::poll() {
  if (watched_by_tool(thread_, code_)) stop = true;
  if (!interrupt_pending(thread_) || handle_interrupts(thread_)) return Flow::kNext;
  return Flow::kRaise;
}

namespace semantics {
namespace {

// Backward jumps carry a flag: a loop must see interrupts.
Flow take_jump(Activation& a, const Instruction& i) {
  if (i.flags && a.poll() == Flow::kRaise) return Flow::kRaise;
  return Flow::kJump;
}

Flow jump_if(Activation& a, const Instruction& i, bool wanted) {
  const Owned condition = a.pop();
  const int truth = PyObject_IsTrue(condition.get());
  if (truth < 0) return Flow::kRaise;
  return (truth != 0) == wanted ? take_jump(a, i) : Flow::kNext;
}

Flow jump_or_pop(Activation& a, bool wanted) {
  const int truth = PyObject_IsTrue(a.peek());
  if (truth < 0) return Flow::kRaise;
  if ((truth != 0) == wanted) return Flow::kJump;
  a.pop();
  return Flow::kNext;
}

}  // namespace

Flow jump(Activation& a, const Instruction& i) { return take_jump(a, i); }

Flow pop_jump_if_false(Activation& a, const Instruction& i) { return jump_if(a, i, false); }

Flow pop_jump_if_true(Activation& a, const Instruction& i) { return jump_if(a, i, true); }

Flow pop_jump_if_none(Activation& a, const Instruction& i) {
  return a.pop().get() == Py_None ? take_jump(a, i) : Flow::kNext;
}

Flow pop_jump_if_not_none(Activation& a, const Instruction& i) {
  return a.pop().get() != Py_None ? take_jump(a, i) : Flow::kNext;
}

Flow jump_if_false_or_pop(Activation& a, const Instruction&) { return jump_or_pop(a, false); }

Flow jump_if_true_or_pop(Activation& a, const Instruction&) { return jump_or_pop(a, true); }

Flow get_iter(Activation& a, const Instruction&) {
  return a.push_result(PyObject_GetIter(a.pop().get()));
}

Flow for_iter(Activation& a, const Instruction&) {
  PyObject* iterator = a.peek();
  PyObject* item = Py_TYPE(iterator)->tp_iternext(iterator);
  if (item != nullptr) return a.push_result(item);
  if (PyErr_Occurred() && !cleared(PyExc_StopIteration)) return Flow::kRaise;
  a.pop();
  return Flow::kJump;
}

}  // namespace semantics
}  // namespace triptych::capture
