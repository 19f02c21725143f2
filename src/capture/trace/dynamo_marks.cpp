#include "capture/trace/dynamo_marks.h"

#include <string_view>

#include "capture/guards/loaded_module.h"

namespace triptych::capture {
namespace {

Owned ids_of(const char* registry) {
  PyObject* const found = loaded_name("torch._dynamo.trace_rules", registry);
  Owned ids =
      Owned::steal(found == nullptr ? nullptr : PyObject_GetAttrString(found, "function_ids"));
  PyErr_Clear();
  return ids && PyAnySet_Check(ids.get()) && PySet_GET_SIZE(ids.get()) > 0 ? std::move(ids)
                                                                           : Owned();
}

Owned polyfills() {
  PyObject* const type =
      loaded_name("torch._dynamo.variables.functions", "PolyfilledFunctionVariable");
  Owned handlers = Owned::steal(
      type == nullptr ? nullptr : PyObject_CallMethod(type, "_get_polyfill_handlers", nullptr));
  PyErr_Clear();
  return handlers && PyDict_Check(handlers.get()) ? std::move(handlers) : Owned();
}

bool contains_id(const Owned& ids, PyObject* object) {
  if (!ids) return false;
  const Owned id = Owned::steal(PyLong_FromVoidPtr(object));
  const int found = id ? PySet_Contains(ids.get(), id.get()) : -1;
  if (found < 0) PyErr_Clear();
  return found == 1;
}

// A capture must not depend on whether Dynamo is loaded: its own substitutes do not count.
bool is_of_dynamo(PyObject* function) {
  PyObject* const module = PyFunction_Check(function)
                               ? reinterpret_cast<PyFunctionObject*>(function)->func_module
                               : nullptr;
  const char* name =
      module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  PyErr_Clear();
  return name == nullptr || std::string_view(name).starts_with("torch._dynamo.");
}

}  // namespace

DynamoMarks::DynamoMarks()
    : allowed_(ids_of("_allowed_callable_ids")),
      nonstrict_(ids_of("_nonstrict_trace_callable_ids")),
      substitutes_(polyfills()) {}

bool DynamoMarks::in_graph(PyObject* function) const {
  return contains_id(allowed_, function) || contains_id(nonstrict_, function);
}

PyObject* DynamoMarks::substitute_of(PyObject* function) const {
  PyObject* const found =
      substitutes_ ? PyDict_GetItemWithError(substitutes_.get(), function) : nullptr;
  PyErr_Clear();
  if (found == nullptr || !PyFunction_Check(found)) return nullptr;
  PyObject* const names = reinterpret_cast<PyFunctionObject*>(found)->func_dict;
  PyObject* const substitute =
      names == nullptr ? nullptr : PyDict_GetItemString(names, "__torch_dynamo_polyfill__");
  return substitute == nullptr || is_of_dynamo(substitute) ? nullptr : substitute;
}

bool DynamoMarks::breaks_raise() {
  return loaded_name("torch._dynamo.utils", "_error_on_graph_break") == Py_True;
}

}  // namespace triptych::capture
