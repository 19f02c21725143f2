#include "python_bridge/tensors/tensor_conversion.h"

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/python_variable.h>

namespace triptych {

const at::Tensor* tensor_of(PyObject* object) {
  return THPVariable_Check(object) ? &THPVariable_Unpack(object) : nullptr;
}

const at::Tensor& unchecked_tensor(PyObject* object) { return THPVariable_Unpack(object); }

PyTypeObject* tensor_type() { return reinterpret_cast<PyTypeObject*>(THPVariableClass); }

PyObject* wrap_tensor(at::Tensor tensor) { return THPVariable_Wrap(std::move(tensor)); }

PyObject* dtype_object(at::ScalarType dtype) {
  PyObject* object = reinterpret_cast<PyObject*>(torch::getTHPDtype(dtype));
  Py_INCREF(object);
  return object;
}

}  // namespace triptych
