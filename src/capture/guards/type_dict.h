// What a type itself defines, without its bases.
#pragma once

#include <Python.h>

namespace triptych::capture {

// Borrowed: the type keeps it. From 3.12 on, types of C have theirs per interpreter.
inline PyObject* type_dict(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  PyObject* dict = PyType_GetDict(type);
  Py_XDECREF(dict);
  return dict;
#else
  return type->tp_dict;
#endif
}

}  // namespace triptych::capture
