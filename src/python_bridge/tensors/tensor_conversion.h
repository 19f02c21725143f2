// Tensors to and from Python objects. All functions need the GIL.
#pragma once

#include <Python.h>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

namespace triptych {

// The tensor of a torch.Tensor (or of an object of a subclass), owned by the object; nullptr for
// anything else.
const at::Tensor* tensor_of(PyObject* object);
// The same where the caller knows that it is one.
const at::Tensor& unchecked_tensor(PyObject* object);

PyTypeObject* tensor_type();  // torch.Tensor

// New reference. The object that already wraps the tensor, else a new torch.Tensor.
PyObject* wrap_tensor(at::Tensor tensor);

// New reference to torch.float32 and so on.
PyObject* dtype_object(at::ScalarType dtype);

}  // namespace triptych
