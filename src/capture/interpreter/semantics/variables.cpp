// Stack manipulation, constants, local variables and cells.
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {

// For opcodes that CPython runs, and those that it does not know.
Flow leave(Activation&, const Instruction&) { return Flow::kLeave; }

Flow nop(Activation&, const Instruction&) { return Flow::kNext; }

Flow resume(Activation& a, const Instruction& i) {
  // From 2 on it follows an `await` or `yield from`: no interrupts there, CPython's loops assume
  // it.
  return i.arg < 2 ? a.poll() : Flow::kNext;
}

Flow pop_top(Activation& a, const Instruction&) {
  a.pop();
  return Flow::kNext;
}

Flow push_null(Activation& a, const Instruction&) {
  a.push({});
  return Flow::kNext;
}

Flow copy(Activation& a, const Instruction& i) {
  a.push(Owned::copy(a.peek(i.arg)));
  return Flow::kNext;
}

Flow swap(Activation& a, const Instruction& i) {
  std::swap(a.slot_from_top(1), a.slot_from_top(i.arg));
  return Flow::kNext;
}

// Runs only where CPython inlined a generator's frame into a loop: the loop's exit jumps over it.
Flow end_for(Activation& a, const Instruction&) {
  a.drop(PY_VERSION_HEX >= 0x030d0000 ? 1 : 2);
  return Flow::kNext;
}

Flow end_send(Activation& a, const Instruction&) {
  Owned value = a.pop();
  a.pop();
  a.push(std::move(value));
  return Flow::kNext;
}

Flow load_const(Activation& a, const Instruction& i) {
  a.push(Owned::copy(a.constant(i.arg)));
  return Flow::kNext;
}

Flow load_fast(Activation& a, const Instruction& i) {
  const Borrowed value = a.local(i.arg);
  if (!value) return raise_unbound(a, i.arg);
  a.push(Owned::copy(value));
  return Flow::kNext;
}

// Saves a variable that an inlined comprehension is about to use; it may be unbound.
Flow load_fast_and_clear(Activation& a, const Instruction& i) {
  a.push(a.take_local(i.arg));
  return Flow::kNext;
}

Flow load_closure(Activation& a, const Instruction& i) { return load_fast(a, i); }

Flow store_fast(Activation& a, const Instruction& i) {
  a.set_local(i.arg, a.pop());
  return Flow::kNext;
}

Flow delete_fast(Activation& a, const Instruction& i) {
  if (!a.local(i.arg)) return raise_unbound(a, i.arg);
  a.set_local(i.arg, {});
  return Flow::kNext;
}

Flow make_cell(Activation& a, const Instruction& i) {
  Owned cell = Owned::steal(PyCell_New(a.local(i.arg)));
  if (!cell) return Flow::kRaise;
  a.set_local(i.arg, std::move(cell));
  return Flow::kNext;
}

Flow copy_free_vars(Activation& a, const Instruction& i) {
  PyObject* closure = a.frame().function()->func_closure;
  const int first = a.code()->co_nlocalsplus - i.arg;
  for (int k = 0; k < i.arg; ++k) {
    a.set_local(first + k, Owned::copy(PyTuple_GET_ITEM(closure, k)));
  }
  return Flow::kNext;
}

Flow load_deref(Activation& a, const Instruction& i) {
  Owned value = Owned::copy(PyCell_GET(a.local(i.arg).get()));
  if (!value) return raise_unbound(a, i.arg);
  a.push(std::move(value));
  return Flow::kNext;
}

Flow store_deref(Activation& a, const Instruction& i) {
  PyObject* cell = a.local(i.arg);
  const Owned old = Owned::steal(PyCell_GET(cell));
  PyCell_SET(cell, a.pop().release());
  return Flow::kNext;
}

Flow delete_deref(Activation& a, const Instruction& i) {
  PyObject* cell = a.local(i.arg);
  const Owned old = Owned::steal(PyCell_GET(cell));
  if (!old) return raise_unbound(a, i.arg);
  PyCell_SET(cell, nullptr);
  return Flow::kNext;
}

}  // namespace triptych::capture::semantics
