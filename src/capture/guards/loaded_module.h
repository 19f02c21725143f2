// Names of modules that somebody else has imported.
#pragma once

#include <Python.h>

namespace triptych::capture {

// Borrowed; null where the module is not loaded or has no such name. Imports nothing.
inline PyObject* loaded_name(const char* module, const char* name) {
  PyObject* const found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  if (found == nullptr || !PyModule_Check(found)) return nullptr;
  return PyDict_GetItemString(PyModule_GetDict(found), name);
}

}  // namespace triptych::capture
