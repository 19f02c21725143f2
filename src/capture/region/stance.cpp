#include "capture/region/stance.h"

#include <Python.h>

#include <string_view>

#include "capture/interpreter/reference.h"

namespace triptych::capture {
namespace {

Stance read(PyObject* stance) {
  const Owned name = Owned::steal(PyObject_GetAttrString(stance, "stance"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  const std::string_view what = text == nullptr ? "" : text;
  if (what == "force_eager") return Stance::kForceEager;
  if (what == "eager_on_recompile") return Stance::kEagerOnRecompile;
  if (what == "fail_on_recompile") return Stance::kFailOnRecompile;
  if (what == "eager_then_compile" || what == "aot_eager_then_compile") {
    return Stance::kEagerThenCompile;
  }
  return Stance::kDefault;
}

}  // namespace

// Asked at each call. No stance was ever set in a process that has not loaded the module.
Stance current_stance() {
  static PyObject* const module_name = PyUnicode_InternFromString("torch._dynamo.eval_frame");
  static PyObject* const variable = PyUnicode_InternFromString("_stance");
  static PyObject* names = nullptr;         // of the module, once it is loaded; kept
  static PyObject* last_default = nullptr;  // the object that meant the default; kept
  if (names == nullptr) {
    PyObject* const module = PyDict_GetItemWithError(PyImport_GetModuleDict(), module_name);
    if (module == nullptr || !PyModule_Check(module)) return Stance::kDefault;
    names = Py_NewRef(PyModule_GetDict(module));
  }
  PyObject* const stance = PyDict_GetItemWithError(names, variable);
  if (stance == nullptr || stance == last_default) return Stance::kDefault;
  const Stance found = read(stance);
  if (found == Stance::kDefault) Py_XSETREF(last_default, Py_NewRef(stance));
  return found;
}

}  // namespace triptych::capture
