// What CPython exports but no longer declares from 3.13 on.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX >= 0x030d0000
extern "C" {
PyAPI_DATA(PyTypeObject) _PyMethodWrapper_Type;
PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* object, PyObject* name, PyObject** method);
}
#endif
