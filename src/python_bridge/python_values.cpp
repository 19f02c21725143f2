#include "python_bridge/python_values.h"

#include <stdexcept>

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_symnode.h>

#include "normalize/tracer/sym_node.h"

namespace py = pybind11;

namespace triptych::python_bridge {

PyObject* to_python(const c10::IValue& value) {
  if (value.isTensor()) return THPVariable_Wrap(value.toTensor());
  if (value.isInt()) return PyLong_FromLongLong(value.toInt());
  if (value.isSymInt()) return py::cast(value.toSymInt()).release().ptr();
  if (value.isNone()) return Py_NewRef(Py_None);
  if (value.isBool()) return Py_NewRef(value.toBool() ? Py_True : Py_False);
  if (value.isDouble()) return PyFloat_FromDouble(value.toDouble());
  if (value.isString()) return PyUnicode_FromString(value.toStringRef().c_str());
  throw std::invalid_argument("no Python form for a value of type " + value.tagKind());
}

c10::IValue from_python(PyObject* object) {
  if (THPVariable_Check(object)) return THPVariable_Unpack(object);
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) throw std::invalid_argument("an integer beyond 64 bits");
    return static_cast<std::int64_t>(number);
  }
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyComplex_Check(object)) {
    return c10::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  }
  if (PyUnicode_Check(object)) return std::string(PyUnicode_AsUTF8(object));
  if (torch::is_symint(object)) return py::cast<c10::SymInt>(py::handle(object));
  if (torch::is_symfloat(object)) return py::cast<c10::SymFloat>(py::handle(object));
  if (torch::is_symbool(object)) return py::cast<c10::SymBool>(py::handle(object));
  throw std::invalid_argument(std::string("a value of type ") + Py_TYPE(object)->tp_name);
}

bool call_as_op(PyObject* function, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto arguments = torch::jit::pop(*stack, op.schema().arguments().size());
  auto [args, kwargs] = parseIValuesToPyArgsKwargs(op, arguments);
  PyObject* result = PyObject_Call(function, args.ptr(), kwargs.ptr());
  if (result == nullptr) {
    python_error error;
    error.persist();
    throw error;
  }
  const py::object owned = py::reinterpret_steal<py::object>(result);
  if (owned.ptr() == Py_NotImplemented) {
    for (c10::IValue& argument : arguments) stack->push_back(std::move(argument));
    return false;
  }
  pushPyOutToStack(op, stack, owned, "decomposition");
  return true;
}

void raise_python(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  python_error error;
  error.persist();
  throw error;
}

void bind_symbolic_numbers(PyObject* module) {
  using normalize::SymNode;
  using Pointer = c10::intrusive_ptr<SymNode>;
  auto m = py::reinterpret_borrow<py::module_>(module);
  py::class_<SymNode, c10::SymNodeImpl, Pointer>(m, "SymNode")
      .def("abs", [](const Pointer& node) -> c10::SymNode { return node->abs(); })
      .def("trunc", [](const Pointer& node) -> c10::SymNode { return node->trunc(); })
      .def("sym_sqrt",
           [](const Pointer& node) -> c10::SymNode { return node->sym_float()->pow(node->wrap_float(0.5)); });
}

}  // namespace triptych::python_bridge
