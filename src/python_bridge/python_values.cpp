#include "python_bridge/python_values.h"

#include <stdexcept>

#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_symnode.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

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

namespace {

template <class Object>
py::object borrowed(Object* object) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(object));
}

// Element types, layouts and memory formats are integers on the stack and objects in Python.
py::object as_python(const c10::Argument& argument, const c10::IValue& value) {
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType)
    type = type->expectRef<c10::OptionalType>().getElementType();
  if (!value.isInt()) return torch::jit::toPyObject(value);
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return borrowed(torch::getTHPDtype(static_cast<at::ScalarType>(value.toInt())));
    case c10::TypeKind::LayoutType:
      return borrowed(torch::getTHPLayout(static_cast<c10::Layout>(value.toInt())));
    case c10::TypeKind::MemoryFormatType:
      return borrowed(
          torch::utils::getTHPMemoryFormat(static_cast<c10::MemoryFormat>(value.toInt())));
    default:
      return torch::jit::toPyObject(value);
  }
}

bool is_default(const c10::Argument& argument, const c10::IValue& value) {
  return argument.default_value().has_value() && *argument.default_value() == value;
}

// Arguments as a caller in Python would write them: trailing defaults and default keywords are left
// out.
std::pair<py::tuple, py::dict> python_arguments(const c10::FunctionSchema& schema,
                                                const std::vector<c10::IValue>& values) {
  std::size_t positional = 0;
  for (std::size_t i = 0; i < values.size() && !schema.arguments()[i].kwarg_only(); ++i) {
    if (!is_default(schema.arguments()[i], values[i])) positional = i + 1;
  }
  py::tuple args(positional);
  py::dict kwargs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (i < positional) {
      args[i] = as_python(argument, values[i]);
    } else if (argument.kwarg_only() && !is_default(argument, values[i])) {
      kwargs[argument.name().c_str()] = as_python(argument, values[i]);
    }
  }
  return {std::move(args), std::move(kwargs)};
}

void push_results(const c10::FunctionSchema& schema, const py::object& result,
                  torch::jit::Stack* stack) {
  const auto& returns = schema.returns();
  if (returns.size() == 1) {
    stack->push_back(torch::jit::toIValue(result, returns[0].real_type()));
    return;
  }
  const auto parts = py::cast<py::sequence>(result);
  TORCH_CHECK(parts.size() == returns.size(), "the decomposition of ", schema.name(), " returned ",
              parts.size(), " results, not ", returns.size());
  for (std::size_t i = 0; i < returns.size(); ++i)
    stack->push_back(torch::jit::toIValue(py::object(parts[i]), returns[i].real_type()));
}

}  // namespace

bool call_as_op(PyObject* function, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  std::vector<c10::IValue> values = torch::jit::pop(*stack, op.schema().arguments().size());
  const auto [args, kwargs] = python_arguments(op.schema(), values);
  PyObject* result = PyObject_Call(function, args.ptr(), kwargs.ptr());
  if (result == nullptr) {
    python_error error;
    error.persist();
    throw error;
  }
  const py::object owned = py::reinterpret_steal<py::object>(result);
  if (owned.ptr() == Py_NotImplemented) {
    for (c10::IValue& value : values) stack->push_back(std::move(value));
    return false;
  }
  push_results(op.schema(), owned, stack);
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
      .def("sym_sqrt", [](const Pointer& node) -> c10::SymNode {
        return node->sym_float()->pow(node->wrap_float(0.5));
      });
}

}  // namespace triptych::python_bridge
