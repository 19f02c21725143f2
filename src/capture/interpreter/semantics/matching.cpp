// `match` statements and type parameters.
#include <opcode.h>
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/native_code.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {
namespace {

Flow push_type_flag(Activation& a, unsigned long flag) {
  const bool has = PyType_HasFeature(Py_TYPE(a.peek().get()), flag);
  a.push(Owned::copy(has ? Py_True : Py_False));
  return Flow::kNext;
}

}  // namespace

Flow match_mapping(Activation& a, const Instruction&) {
  return push_type_flag(a, Py_TPFLAGS_MAPPING);
}

Flow match_sequence(Activation& a, const Instruction&) {
  return push_type_flag(a, Py_TPFLAGS_SEQUENCE);
}

// [subject, keys] -> [subject, keys, values or None]
Flow match_keys(Activation& a, const Instruction&) {
  const Borrowed operands[] = {a.peek(2), a.peek(1)};
  const Owned all = run_native_instruction(MATCH_KEYS, 0, operands, a.frame().globals(), 3);
  return a.push_result(all ? Py_NewRef(PyTuple_GET_ITEM(all.get(), 2)) : nullptr);
}

// [subject, class, names of keyword patterns] -> [attributes or None]
Flow match_class(Activation& a, const Instruction& i) {
  const Owned names = a.pop();
  const Owned subject_class = a.pop();
  const Owned subject = a.pop();
  const Borrowed operands[] = {subject.borrow(), subject_class.borrow(), names.borrow()};
  return a.push_result(
      run_native_instruction(MATCH_CLASS, i.arg, operands, a.frame().globals()).release());
}

#if PY_VERSION_HEX >= 0x030c0000

Flow intrinsic_1(Activation& a, const Instruction& i) {
  const Owned value = a.pop();
  const Borrowed operands[] = {value.borrow()};
  return a.push_result(
      run_native_instruction(CALL_INTRINSIC_1, i.arg, operands, a.frame().globals()).release());
}

Flow intrinsic_2(Activation& a, const Instruction& i) {
  const Owned second = a.pop();
  const Owned first = a.pop();
  const Borrowed operands[] = {first.borrow(), second.borrow()};
  return a.push_result(
      run_native_instruction(CALL_INTRINSIC_2, i.arg, operands, a.frame().globals()).release());
}

#else

Flow intrinsic_1(Activation&, const Instruction&) { return Flow::kLeave; }
Flow intrinsic_2(Activation&, const Instruction&) { return Flow::kLeave; }

#endif

}  // namespace triptych::capture::semantics
