#include "python_bridge/python_runner.h"

#include <frameobject.h>

#include <stdexcept>

#include "normalize/unsupported.h"

namespace triptych::python_bridge {
namespace {

class Gil {  // torch's bindings release it around every op
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

class Owned {
 public:
  explicit Owned(PyObject* object) : object_(object) {}
  ~Owned() { Py_XDECREF(object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

std::string op_name(const c10::OperatorHandle& op) {
  std::string name = op.schema().name();
  const std::size_t colons = name.find("::");
  if (colons != std::string::npos) name.replace(colons, 2, ".");
  const std::string& overload = op.schema().overload_name();
  return name + "." + (overload.empty() ? "default" : overload);
}

std::string text_of(PyObject* object) {
  const char* text = object == nullptr || object == Py_None ? nullptr : PyUnicode_AsUTF8(object);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "" : text;
}

}  // namespace

PythonRunner::~PythonRunner() {
  const Gil gil;
  for (auto& [name, function] : decompositions_) Py_XDECREF(function);
  for (auto& [code, user] : user_code_) Py_DECREF(reinterpret_cast<PyObject*>(code));
}

std::vector<c10::IValue> PythonRunner::run_program(const std::vector<c10::IValue>& inputs) {
  const Gil gil;
  const Owned arguments(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), to_python(inputs[i]));
  const Owned result(PyObject_Call(program_.function, arguments.get(), nullptr));
  if (result.get() == nullptr) throw PythonErrorSet();
  const Owned sequence(PySequence_Fast(result.get(), "a traced program returns a sequence"));
  if (sequence.get() == nullptr) throw PythonErrorSet();
  std::vector<c10::IValue> outputs;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i) {
    try {
      outputs.push_back(from_python(PySequence_Fast_GET_ITEM(sequence.get(), i)));
    } catch (const std::invalid_argument& error) {
      throw normalize::Unsupported(
          unsupported("normalize.output", std::string("the program returns ") + error.what()));
    }
  }
  return outputs;
}

bool PythonRunner::has_caller_decomposition(const c10::OperatorHandle& op) {
  if (program_.caller_table == nullptr) return false;
  const Gil gil;
  return PyDict_GetItemString(program_.caller_table, op_name(op).c_str()) != nullptr;
}

PyObject* PythonRunner::find_decomposition(const c10::OperatorHandle& op) {
  const std::string name = op_name(op);
  const auto found = decompositions_.find(name);
  if (found != decompositions_.end()) return found->second;
  PyObject* function = nullptr;
  if (program_.caller_table != nullptr)
    function = Py_XNewRef(PyDict_GetItemString(program_.caller_table, name.c_str()));
  if (function == nullptr && program_.default_table != nullptr) {
    function = PyObject_CallFunction(program_.default_table, "s", name.c_str());
    if (function == nullptr) PyErr_Clear();
    if (function == Py_None) Py_CLEAR(function);
  }
  return decompositions_[name] = function;
}

bool PythonRunner::has_python_decomposition(const c10::OperatorHandle& op) {
  const Gil gil;
  return find_decomposition(op) != nullptr;
}

bool PythonRunner::run_decomposition(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Gil gil;
  PyObject* function = find_decomposition(op);
  return function != nullptr && call_as_op(function, op, stack);
}

c10::IValue PythonRunner::symbolic_number(const at::Tensor& wrapped) {
  const Gil gil;
  const Owned tensor(to_python(wrapped));
  const Owned number(PyObject_GetAttrString(tensor.get(), "_wrapped_number"));
  if (number.get() == nullptr) {
    PyErr_Clear();
    return {};
  }
  return from_python(number.get());
}

bool PythonRunner::is_user_code(PyCodeObject* code) {
  const auto found = user_code_.find(code);
  if (found != user_code_.end()) return found->second;
  bool user = false;
  if (program_.is_library_file != nullptr) {
    const Owned answer(PyObject_CallOneArg(program_.is_library_file, code->co_filename));
    if (answer.get() == nullptr) PyErr_Clear();
    user = answer.get() == Py_False;
  }
  Py_INCREF(reinterpret_cast<PyObject*>(code));
  user_code_[code] = user;
  return user;
}

int PythonRunner::running_node() const {
  return static_cast<int>(PyLong_AsLong(PyList_GET_ITEM(program_.position, 0)));
}

int PythonRunner::current_location() {
  const Gil gil;
  if (program_.position != nullptr) return running_node();
  PyFrameObject* frame =
      reinterpret_cast<PyFrameObject*>(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  Place place{nullptr, 0};
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool user = is_user_code(code);
    Py_DECREF(reinterpret_cast<PyObject*>(code));  // user_code_ keeps it
    if (user) {
      place = {code, PyFrame_GetLasti(frame)};
      break;
    }
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(reinterpret_cast<PyObject*>(frame));
    frame = back;
  }
  if (frame == nullptr) return -1;
  Py_DECREF(reinterpret_cast<PyObject*>(frame));
  if (places_.empty() || !(places_.back() == place)) places_.push_back(place);
  return static_cast<int>(places_.size()) - 1;
}

normalize::NodeRunner::Resolved PythonRunner::resolve_node(int index) {
  Resolved resolved;
  const Owned answer(PyObject_CallFunction(program_.resolve, "i", index));
  if (answer.get() != nullptr && PyTuple_Check(answer.get()) &&
      PyTuple_GET_SIZE(answer.get()) == 4) {
    resolved.location.file = text_of(PyTuple_GET_ITEM(answer.get(), 0));
    resolved.location.line = static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(answer.get(), 1)));
    resolved.location.module_path = text_of(PyTuple_GET_ITEM(answer.get(), 2));
    resolved.origin = text_of(PyTuple_GET_ITEM(answer.get(), 3));
  }
  PyErr_Clear();  // a location is a courtesy: no trace fails for want of one
  return resolved;
}

normalize::NodeRunner::Resolved PythonRunner::resolve_location(int location) {
  const auto found = resolved_.find(location);
  if (found != resolved_.end()) return found->second;
  const Gil gil;
  Resolved resolved;
  if (program_.position != nullptr) {
    resolved = resolve_node(location);
  } else {
    const Place& place = places_.at(static_cast<std::size_t>(location));
    resolved.location.file = text_of(place.code->co_filename);
    // Walks the line table, so only once per place and not while tracing.
    resolved.location.line = PyCode_Addr2Line(place.code, place.instruction);
  }
  return resolved_[location] = resolved;
}

void PythonRunner::raise_data_dependent(const std::string& op) {
  const std::string message = op + " needs the data of a tensor, which is not known while tracing";
  const int place = current_location();
  const std::string location = place < 0 ? "" : resolve_location(place).location.str();
  const normalize::Unsupported pending(unsupported("normalize.data_dependent", message, location));
  const Gil gil;
  raise_python(PyExc_RuntimeError, message);
}

void PythonRunner::discard_exception() {
  const Gil gil;
  PyErr_Clear();
}

}  // namespace triptych::python_bridge
