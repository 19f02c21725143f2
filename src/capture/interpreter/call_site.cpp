#include "capture/interpreter/call_site.h"

#include <utility>

#include "capture/interpreter/cpython.h"

namespace triptych::capture {

// From the bottom: two places for the callable and its `self`, the arguments, for `call_kw` the
// names of the keywords. Until 3.12 an absent `self` is a null below the callable, from 3.13 a null
// above it.
CallSite call_site(Activation& activation, const Instruction& instruction) {
  const bool names_on_stack = instruction.op == Op::kCallKw;
  const int operands = instruction.arg + 2 + (names_on_stack ? 1 : 0);
  PyObject** base = activation.operands(operands);
#if PY_VERSION_HEX >= 0x030d0000
  const bool has_self = base[1] != nullptr;
  PyObject* callable = base[0];
#else
  const bool has_self = base[0] != nullptr;
  PyObject* callable = has_self ? base[0] : base[1];
#endif
  Borrowed names;
  if (names_on_stack) names = activation.peek();
  if (instruction.kwnames >= 0) names = activation.constant(instruction.kwnames);
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names.get()) : 0;
  return {callable, has_self ? base + 1 : base + 2, instruction.arg + has_self - keywords, names,
          operands};
}

void push_callable(Activation& activation, Owned callable, Owned self) {
  if (PY_VERSION_HEX < 0x030d0000 && !self) {
    activation.push({});
    activation.push(std::move(callable));
    return;
  }
  activation.push(std::move(callable));
  activation.push(std::move(self));
}

}  // namespace triptych::capture
