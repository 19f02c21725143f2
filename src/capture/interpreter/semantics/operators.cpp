// Arithmetic, comparisons, truth, subscripts.
#include <opcode.h>
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {
namespace {

PyObject* power(PyObject* base, PyObject* exponent) {
  return PyNumber_Power(base, exponent, Py_None);
}
PyObject* inplace_power(PyObject* base, PyObject* exponent) {
  return PyNumber_InPlacePower(base, exponent, Py_None);
}

using Binary = PyObject* (*)(PyObject*, PyObject*);

struct BinaryTable {
  Binary functions[32] = {};
  constexpr BinaryTable() {
    functions[NB_ADD] = PyNumber_Add;
    functions[NB_AND] = PyNumber_And;
    functions[NB_FLOOR_DIVIDE] = PyNumber_FloorDivide;
    functions[NB_LSHIFT] = PyNumber_Lshift;
    functions[NB_MATRIX_MULTIPLY] = PyNumber_MatrixMultiply;
    functions[NB_MULTIPLY] = PyNumber_Multiply;
    functions[NB_REMAINDER] = PyNumber_Remainder;
    functions[NB_OR] = PyNumber_Or;
    functions[NB_POWER] = power;
    functions[NB_RSHIFT] = PyNumber_Rshift;
    functions[NB_SUBTRACT] = PyNumber_Subtract;
    functions[NB_TRUE_DIVIDE] = PyNumber_TrueDivide;
    functions[NB_XOR] = PyNumber_Xor;
    functions[NB_INPLACE_ADD] = PyNumber_InPlaceAdd;
    functions[NB_INPLACE_AND] = PyNumber_InPlaceAnd;
    functions[NB_INPLACE_FLOOR_DIVIDE] = PyNumber_InPlaceFloorDivide;
    functions[NB_INPLACE_LSHIFT] = PyNumber_InPlaceLshift;
    functions[NB_INPLACE_MATRIX_MULTIPLY] = PyNumber_InPlaceMatrixMultiply;
    functions[NB_INPLACE_MULTIPLY] = PyNumber_InPlaceMultiply;
    functions[NB_INPLACE_REMAINDER] = PyNumber_InPlaceRemainder;
    functions[NB_INPLACE_OR] = PyNumber_InPlaceOr;
    functions[NB_INPLACE_POWER] = inplace_power;
    functions[NB_INPLACE_RSHIFT] = PyNumber_InPlaceRshift;
    functions[NB_INPLACE_SUBTRACT] = PyNumber_InPlaceSubtract;
    functions[NB_INPLACE_TRUE_DIVIDE] = PyNumber_InPlaceTrueDivide;
    functions[NB_INPLACE_XOR] = PyNumber_InPlaceXor;
  }
};
constexpr BinaryTable kBinary;

Flow push_truth(Activation& a, int truth) {
  if (truth < 0) return Flow::kRaise;
  a.push(Owned::copy(truth ? Py_True : Py_False));
  return Flow::kNext;
}

Owned pop_slice(Activation& a) {
  const Owned stop = a.pop();
  const Owned start = a.pop();
  return Owned::steal(PySlice_New(start.get(), stop.get(), nullptr));
}

}  // namespace

Flow binary_op(Activation& a, const Instruction& i) {
  if (i.arg >= 32 || kBinary.functions[i.arg] == nullptr) return Flow::kLeave;
  const Owned right = a.pop();
  const Owned left = a.pop();
  return a.push_result(kBinary.functions[i.arg](left.get(), right.get()));
}

Flow unary_positive(Activation& a, const Instruction&) {
  return a.push_result(PyNumber_Positive(a.pop().get()));
}

Flow unary_negative(Activation& a, const Instruction&) {
  return a.push_result(PyNumber_Negative(a.pop().get()));
}

Flow unary_invert(Activation& a, const Instruction&) {
  return a.push_result(PyNumber_Invert(a.pop().get()));
}

Flow unary_not(Activation& a, const Instruction&) {
  const int truth = PyObject_IsTrue(a.pop().get());
  return push_truth(a, truth < 0 ? truth : !truth);
}

Flow to_bool(Activation& a, const Instruction&) {
  return push_truth(a, PyObject_IsTrue(a.pop().get()));
}

Flow compare_op(Activation& a, const Instruction& i) {
  const Owned right = a.pop();
  const Owned left = a.pop();
  const Owned result = Owned::steal(PyObject_RichCompare(left.get(), right.get(), i.arg));
  if (!result) return Flow::kRaise;
  if (i.flags) return push_truth(a, PyObject_IsTrue(result.get()));
  a.push(Owned::copy(result.get()));
  return Flow::kNext;
}

Flow is_op(Activation& a, const Instruction& i) {
  const Owned right = a.pop();
  const Owned left = a.pop();
  return push_truth(a, (left.get() == right.get()) != (i.arg != 0));
}

Flow contains_op(Activation& a, const Instruction& i) {
  const Owned container = a.pop();
  const Owned item = a.pop();
  const int inside = PySequence_Contains(container.get(), item.get());
  return push_truth(a, inside < 0 ? inside : inside != i.arg);
}

Flow binary_subscr(Activation& a, const Instruction&) {
  const Owned key = a.pop();
  const Owned container = a.pop();
  return a.push_result(PyObject_GetItem(container.get(), key.get()));
}

Flow store_subscr(Activation& a, const Instruction&) {
  const Owned key = a.pop();
  const Owned container = a.pop();
  const Owned value = a.pop();
  const int failed = PyObject_SetItem(container.get(), key.get(), value.get());
  return failed < 0 ? Flow::kRaise : Flow::kNext;
}

Flow delete_subscr(Activation& a, const Instruction&) {
  const Owned key = a.pop();
  const Owned container = a.pop();
  return PyObject_DelItem(container.get(), key.get()) < 0 ? Flow::kRaise : Flow::kNext;
}

Flow binary_slice(Activation& a, const Instruction&) {
  const Owned slice = pop_slice(a);
  const Owned container = a.pop();
  return slice ? a.push_result(PyObject_GetItem(container.get(), slice.get())) : Flow::kRaise;
}

Flow store_slice(Activation& a, const Instruction&) {
  const Owned slice = pop_slice(a);
  const Owned container = a.pop();
  const Owned value = a.pop();
  if (!slice || PyObject_SetItem(container.get(), slice.get(), value.get()) < 0)
    return Flow::kRaise;
  return Flow::kNext;
}

Flow build_slice(Activation& a, const Instruction& i) {
  const Owned step = i.arg == 3 ? a.pop() : Owned();
  const Owned stop = a.pop();
  const Owned start = a.pop();
  return a.push_result(PySlice_New(start.get(), stop.get(), step.get()));
}

Flow get_len(Activation& a, const Instruction&) {
  const Py_ssize_t length = PyObject_Length(a.peek());
  return length < 0 ? Flow::kRaise : a.push_result(PyLong_FromSsize_t(length));
}

}  // namespace triptych::capture::semantics
