// Names of attributes, and the classes that may be given others.
#pragma once

#include <Python.h>

namespace triptych::capture {

inline PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

inline bool equals(PyObject* name, const char* text) {
  return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

// A class statement's: it may change, those of C are never changed.
inline bool is_python_class(const PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

}  // namespace triptych::capture
