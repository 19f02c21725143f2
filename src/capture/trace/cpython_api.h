// What CPython exports but no longer declares from 3.13 on, and what it no longer exports.
#pragma once

#include <Python.h>

#include "capture/interpreter/reference.h"

#if PY_VERSION_HEX >= 0x030d0000
extern "C" {
PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* object, PyObject* name, PyObject** method);
}
#endif

namespace triptych::capture {

// Of methods that a type of C defines by its slots, once bound. A static type: nobody owns it.
inline const PyTypeObject* method_wrapper_type() {
  static const PyTypeObject* const type = [] {
    const Owned method = Owned::steal(PyObject_GetAttrString(Py_None, "__str__"));
    if (!method) PyErr_Clear();
    return method ? Py_TYPE(method.get()) : nullptr;
  }();
  return type;
}

}  // namespace triptych::capture
