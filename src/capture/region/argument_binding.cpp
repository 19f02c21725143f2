#include "capture/region/argument_binding.h"

#include <algorithm>

namespace triptych::capture {
namespace {

// The variable of that name among those that a keyword may set; -1: none.
Py_ssize_t find_variable(const PyCodeObject* code, PyObject* name) {
  const Py_ssize_t total = code->co_argcount + code->co_kwonlyargcount;
  PyObject* const names = code->co_localsplusnames;
  for (Py_ssize_t k = code->co_posonlyargcount; k < total; ++k) {
    if (PyTuple_GET_ITEM(names, k) == name) return k;
  }
  for (Py_ssize_t k = code->co_posonlyargcount; k < total; ++k) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, k), name) == 0) return k;
  }
  return -1;
}

}  // namespace

bool BoundArguments::bind(PyFunctionObject* function, PyObject* const* arguments,
                          Py_ssize_t positional, PyObject* keyword_names) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  constexpr int kResumable = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if ((code->co_flags & kResumable) != 0) return false;
  const Py_ssize_t variables = PyTuple_GET_SIZE(code->co_localsplusnames);
  slots_.assign(static_cast<std::size_t>(variables), nullptr);
  const Py_ssize_t named = code->co_argcount + code->co_kwonlyargcount;
  std::copy_n(arguments, std::min<Py_ssize_t>(positional, code->co_argcount), slots_.begin());
  if ((code->co_flags & CO_VARARGS) != 0) {
    const Py_ssize_t extra = std::max<Py_ssize_t>(positional - code->co_argcount, 0);
    rest_ = Owned::steal(PyTuple_New(extra));
    if (!rest_) return false;
    for (Py_ssize_t k = 0; k < extra; ++k) {
      PyTuple_SET_ITEM(rest_.get(), k, Py_NewRef(arguments[code->co_argcount + k]));
    }
    slots_[static_cast<std::size_t>(named)] = rest_.get();
  } else if (positional > code->co_argcount) {
    return false;
  }
  if ((code->co_flags & CO_VARKEYWORDS) != 0) {
    keywords_ = Owned::steal(PyDict_New());
    if (!keywords_) return false;
    slots_[static_cast<std::size_t>(named + (rest_ ? 1 : 0))] = keywords_.get();
  }
  if (keyword_names != nullptr && PyTuple_GET_SIZE(keyword_names) > 0 &&
      !bind_keywords(function, arguments + positional, keyword_names)) {
    return false;
  }
  return bind_defaults(function);
}

bool BoundArguments::bind_keywords(PyFunctionObject* function, PyObject* const* values,
                                   PyObject* names) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* const name = PyTuple_GET_ITEM(names, k);
    const Py_ssize_t place = find_variable(code, name);
    if (place < 0) {
      if (!keywords_ || PyDict_SetItem(keywords_.get(), name, values[k]) < 0) return false;
      continue;
    }
    PyObject*& slot = slots_[static_cast<std::size_t>(place)];
    if (slot != nullptr) return false;
    slot = values[k];
  }
  return true;
}

bool BoundArguments::bind_defaults(PyFunctionObject* function) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const Py_ssize_t count =
      function->func_defaults == nullptr ? 0 : PyTuple_GET_SIZE(function->func_defaults);
  const Py_ssize_t first = code->co_argcount - count;
  for (Py_ssize_t k = 0; k < code->co_argcount; ++k) {
    PyObject*& slot = slots_[static_cast<std::size_t>(k)];
    if (slot != nullptr) continue;
    if (k < first) return false;
    slot = PyTuple_GET_ITEM(function->func_defaults, k - first);
  }
  for (Py_ssize_t k = 0; k < code->co_kwonlyargcount; ++k) {
    const Py_ssize_t place = code->co_argcount + k;
    PyObject*& slot = slots_[static_cast<std::size_t>(place)];
    if (slot != nullptr) continue;
    if (function->func_kwdefaults == nullptr) return false;
    PyObject* const name = PyTuple_GET_ITEM(code->co_localsplusnames, place);
    slot = PyDict_GetItemWithError(function->func_kwdefaults, name);
    if (slot == nullptr) return false;
  }
  return true;
}

}  // namespace triptych::capture
