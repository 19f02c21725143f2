#include "capture/guards/abc_token.h"

#include <Python.h>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

std::int64_t abc_token() {
  static PyObject* const ask = [] {
    const Owned module = Owned::steal(PyImport_ImportModule("_abc"));
    return module ? PyObject_GetAttrString(module.get(), "get_cache_token") : nullptr;
  }();
  const Owned token = Owned::steal(ask == nullptr ? nullptr : PyObject_CallNoArgs(ask));
  const long long number = token ? PyLong_AsLongLong(token.get()) : -1;
  PyErr_Clear();
  return number;
}

}  // namespace triptych::capture
