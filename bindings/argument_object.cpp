#include "argument_object.h"

#include "python_bridge/tensors/tensor_conversion.h"
#include "torch_types/torch_types.h"

namespace triptych::bindings {

PyObject* argument_object(const ir::Argument& argument, std::int64_t symbolic) {
  if (argument.is_none()) return Py_NewRef(Py_None);
  if (const auto* value = argument.get_if<bool>()) return PyBool_FromLong(*value ? 1 : 0);
  if (const auto* value = argument.get_if<std::int64_t>()) return PyLong_FromLongLong(*value);
  if (const auto* value = argument.get_if<double>()) return PyFloat_FromDouble(*value);
  if (const auto* value = argument.get_if<std::complex<double>>()) {
    return PyComplex_FromDoubles(value->real(), value->imag());
  }
  if (const auto* value = argument.get_if<std::string>()) {
    return PyUnicode_FromStringAndSize(value->data(), static_cast<Py_ssize_t>(value->size()));
  }
  if (const auto* value = argument.get_if<ir::DType>()) return dtype_object(to_torch(*value));
  if (argument.is<ir::SymExpr>() || argument.is<ir::ValueId>())
    return PyLong_FromLongLong(symbolic);
  PyErr_SetString(PyExc_NotImplementedError, "an output of this kind has no Python form yet");
  return nullptr;
}

}  // namespace triptych::bindings
