#include "capture/interpreter/errors.h"

#include "capture/interpreter/cpython.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture {

Flow raise_name_error(Borrowed name) {
  PyErr_Format(PyExc_NameError, "name '%.200s' is not defined", PyUnicode_AsUTF8(name));
  // "Did you mean" needs the name.
  Owned exception = take_raised_exception();
  if (PyErr_GivenExceptionMatches(exception.get(), PyExc_NameError) &&
      PyObject_SetAttrString(exception.get(), "name", name) < 0) {
    PyErr_Clear();
  }
  raise_again(std::move(exception));
  return Flow::kRaise;
}

Flow raise_unbound(Activation& activation, int slot) {
  PyCodeObject* code = activation.code();
  const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(code->co_localsplusnames, slot));
  if (slot < code->co_nlocalsplus - code->co_nfreevars) {
    PyErr_Format(PyExc_UnboundLocalError,
                 "cannot access local variable '%s' where it is not associated with a value", name);
  } else {
    PyErr_Format(PyExc_NameError,
                 "cannot access free variable '%s' where it is not associated with a value in "
                 "enclosing scope",
                 name);
  }
  return Flow::kRaise;
}

Flow raise_type_error(const char* format, Borrowed culprit) {
  PyErr_Format(PyExc_TypeError, format, Py_TYPE(culprit.get())->tp_name);
  return Flow::kRaise;
}

bool cleared(PyObject* exception_class) {
  if (!PyErr_ExceptionMatches(exception_class)) return false;
  PyErr_Clear();
  return true;
}

bool look_up(Borrowed mapping, Borrowed name, Owned& found) {
  if (PyDict_CheckExact(mapping.get())) {
    found = Owned::copy(PyDict_GetItemWithError(mapping, name));
    return found || !PyErr_Occurred();
  }
  found = Owned::steal(PyObject_GetItem(mapping, name));
  return found || cleared(PyExc_KeyError);
}

}  // namespace triptych::capture
