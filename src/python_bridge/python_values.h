// Values between Python and torch's IValue. All functions need the GIL.
#pragma once

#include <Python.h>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

namespace triptych::python_bridge {

// Thrown when a Python call failed; the exception is set in the interpreter.
struct PythonErrorSet {};

// Tensors, None, numbers, symbolic numbers, strings. New reference.
PyObject* to_python(const c10::IValue& value);
// The same set. Throws std::invalid_argument naming the type for anything else.
c10::IValue from_python(PyObject* object);

// Calls a Python function with the op's arguments as Python passes them, and leaves what it returns
// on the stack as the op's schema says. False when it returned NotImplemented.
bool call_as_op(PyObject* function, const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Raises a Python exception from inside an op: torch's bindings above hand it on.
[[noreturn]] void raise_python(PyObject* type, const std::string& message);

// Makes our symbolic integers known to torch's Python layer with their extra methods. Once per
// process.
void bind_symbolic_numbers(PyObject* module);

}  // namespace triptych::python_bridge
