#include "program_object.h"

#include <structmember.h>

#include "argument_object.h"
#include "exceptions.h"
#include "python_bridge/tensors/tensor_conversion.h"
#include "runtime/errors.h"

namespace nb = nanobind;

namespace triptych::bindings {

namespace {

using OutputKind = ir::Output::Kind;

struct ProgramObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<runtime::Executable> executable;
  PyObject* keep_alive;
  std::vector<std::uint32_t> shown;  // outputs that are not hidden
};

PyTypeObject* program_type = nullptr;  // lives as long as the module

constexpr runtime::WorkLock kGil = {
    [] { return static_cast<void*>(PyEval_SaveThread()); },
    [](void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }};

// What one thread needs to make a call, kept so that nothing is allocated. A nested call takes its
// own.
struct CallBuffers {
  std::vector<runtime::InputRef> inputs;
  std::vector<at::Tensor> outputs;
  std::vector<std::int64_t> literals;
};

PyObject* output_object(const ProgramObject& program, std::uint32_t index, PyObject* const* args,
                        CallBuffers& call) {
  const auto& outputs = program.executable->program().outputs;
  const ir::Output* output = &outputs[index];
  while (output->kind == OutputKind::kSameAs) {
    index = output->index;
    output = &outputs[index];
  }
  switch (output->kind) {
    case OutputKind::kInput:
      return Py_NewRef(args[output->index]);
    case OutputKind::kLiteral:
      return argument_object(output->literal, call.literals[index]);
    default:
      // The same tensor gives the same object; a single one need not be counted twice.
      if (program.shown.size() == 1) return wrap_tensor(std::move(call.outputs[index]));
      return wrap_tensor(call.outputs[index]);
  }
}

PyObject* run(ProgramObject& program, PyObject* const* args, std::size_t count, CallBuffers& call) {
  read_inputs(args, count, call.inputs);
  call.literals.clear();
  program.executable->run(call.inputs, call.outputs, call.literals, kGil);
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(program.shown.size()));
  for (std::size_t i = 0; result != nullptr && i < program.shown.size(); ++i) {
    PyObject* item = output_object(program, program.shown[i], args, call);
    if (item == nullptr) Py_CLEAR(result);
    if (result != nullptr) PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), item);
  }
  return result;
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* names) {
  if (names != nullptr && PyTuple_GET_SIZE(names) > 0) {
    PyErr_SetString(PyExc_TypeError, "a program takes no keyword arguments");
    return nullptr;
  }
  static thread_local std::unique_ptr<CallBuffers> kept;
  std::unique_ptr<CallBuffers> call = kept ? std::move(kept) : std::make_unique<CallBuffers>();
  PyObject* result = nullptr;
  try {
    result = run(*reinterpret_cast<ProgramObject*>(self), args, PyVectorcall_NARGS(nargsf), *call);
  } catch (...) {
    set_python_error();
  }
  call->outputs.clear();
  kept = std::move(call);
  return result;
}

void deallocate(PyObject* self) {
  auto* program = reinterpret_cast<ProgramObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  program->executable.~shared_ptr();
  program->shown.~vector();
  Py_XDECREF(program->keep_alive);  // behind the executable: its kernels are the library's code
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("A generated program: call it with tensors.")},
                       {0, nullptr}};

PyType_Spec spec = {
    "triptych._C.Program", sizeof(ProgramObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void read_inputs(PyObject* const* args, std::size_t count, std::vector<runtime::InputRef>& inputs) {
  inputs.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (const at::Tensor* tensor = tensor_of(args[i])) {
      inputs[i] = {tensor, 0};
      continue;
    }
    if (!PyIndex_Check(args[i])) {
      runtime::fail(user_error("runtime.input", "input " + std::to_string(i) + ": found " +
                                                    Py_TYPE(args[i])->tp_name +
                                                    ", expected a tensor or an integer"));
    }
    const Py_ssize_t value = PyNumber_AsSsize_t(args[i], PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    inputs[i] = {nullptr, value};
  }
}

nb::object make_program_object(std::shared_ptr<runtime::Executable> executable,
                               nb::object keep_alive) {
  auto* program = reinterpret_cast<ProgramObject*>(program_type->tp_alloc(program_type, 0));
  if (program == nullptr) throw nb::python_error();
  program->vectorcall = vectorcall;
  new (&program->executable) std::shared_ptr<runtime::Executable>(std::move(executable));
  new (&program->shown) std::vector<std::uint32_t>();
  program->keep_alive = keep_alive.release().ptr();
  const auto& outputs = program->executable->program().outputs;
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].hidden) program->shown.push_back(i);
  }
  return nb::steal(reinterpret_cast<PyObject*>(program));
}

void bind_program_object(nb::module_& module) {
  program_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (program_type == nullptr) throw nb::python_error();
  module.attr("Program") = nb::borrow(reinterpret_cast<PyObject*>(program_type));
}

}  // namespace triptych::bindings
