#include "capture/interpreter/native_code.h"

#include <map>
#include <string>
#include <tuple>

#include <opcode.h>
#include "capture/interpreter/cpython.h"

namespace triptych::capture {
namespace {

// Marks our code objects: no compiled source has this file name object.
PyObject* marker() {
  static PyObject* const name = PyUnicode_FromString("<triptych instruction>");
  return name;
}

void append_instruction(std::string& code, int opcode, int oparg) {
  for (int shift = 24; shift > 0; shift -= 8) {
    if ((oparg >> shift) == 0) continue;
    code += static_cast<char>(EXTENDED_ARG);
    code += static_cast<char>((oparg >> shift) & 255);
  }
  code += static_cast<char>(opcode);
  code += static_cast<char>(oparg & 255);
}

// def instruction(a0, a1, ...): push them all, the instruction, gather the results, return.
Owned make_code(const std::string& bytecode, int operands, Borrowed names) {
  const Owned base =
      Owned::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "instruction", 1)));
  const Owned replace =
      base ? Owned::steal(PyObject_GetAttrString(base.get(), "replace")) : Owned();
  const Owned no_args = Owned::steal(PyTuple_New(0));
  const Owned variables = Owned::steal(PyTuple_New(operands));
  if (!replace || !no_args || !variables) return {};
  for (int i = 0; i < operands; ++i) {
    PyObject* variable = PyUnicode_FromFormat("a%d", i);
    if (variable == nullptr) return {};
    PyTuple_SET_ITEM(variables.get(), i, variable);
  }
  const Owned code = Owned::steal(
      PyBytes_FromStringAndSize(bytecode.data(), static_cast<Py_ssize_t>(bytecode.size())));
  const Owned fields = Owned::steal(
      Py_BuildValue("{s:O,s:i,s:i,s:i,s:O,s:O,s:O,s:i}", "co_code", code.get(), "co_argcount",
                    operands, "co_nlocals", operands, "co_stacksize", operands + 4, "co_varnames",
                    variables.get(), "co_filename", marker(), "co_names",
                    names ? names.get() : no_args.get(), "co_flags", CO_OPTIMIZED | CO_NEWLOCALS));
  if (!code || !fields) return {};
  return Owned::steal(PyObject_Call(replace.get(), no_args.get(), fields.get()));
}

// For instructions without inline caches.
std::string instruction_bytes(int raw_opcode, int oparg, int operands, int results) {
  std::string bytes;
  for (int i = 0; i < operands; ++i) append_instruction(bytes, LOAD_FAST, i);
  append_instruction(bytes, raw_opcode, oparg);
  if (results > 1) append_instruction(bytes, BUILD_TUPLE, results);
  append_instruction(bytes, RETURN_VALUE, 0);
  return bytes;
}

Owned call(Borrowed code, std::span<const Borrowed> operands, Borrowed globals) {
  const Owned function = Owned::steal(PyFunction_New(code, globals));
  if (!function) return {};
  PyObject* arguments[4] = {};
  for (std::size_t i = 0; i < operands.size(); ++i) arguments[i] = operands[i];
  return Owned::steal(PyObject_Vectorcall(function.get(), arguments, operands.size(), nullptr));
}

}  // namespace

Owned run_native_instruction(int raw_opcode, int oparg, std::span<const Borrowed> operands,
                             Borrowed globals, int results, Borrowed name) {
  using Key = std::tuple<int, int, int>;
  static std::map<Key, PyObject*> known;  // kept for the life of the process
  const auto count = static_cast<int>(operands.size());
  if (name) {
    const Owned names = Owned::steal(PyTuple_Pack(1, name.get()));
    const std::string bytes = instruction_bytes(raw_opcode, 0, count, results);
    const Owned code = names ? make_code(bytes, count, names.borrow()) : Owned();
    return code ? call(code.borrow(), operands, globals) : Owned();
  }
  PyObject*& code = known[{raw_opcode, oparg, count}];
  if (code == nullptr) {
    code = make_code(instruction_bytes(raw_opcode, oparg, count, results), count, {}).release();
  }
  return code != nullptr ? call(code, operands, globals) : Owned();
}

bool run_interrupt_point() {
  static PyObject* function = nullptr;
  if (function == nullptr) {
    std::string bytes;
    append_instruction(bytes, RESUME, 0);
    append_instruction(bytes, LOAD_FAST, 0);
    append_instruction(bytes, RETURN_VALUE, 0);
    const Owned code = make_code(bytes, 1, {});
    const Owned globals = Owned::steal(PyDict_New());
    if (!code || !globals) return false;
    function = PyFunction_New(code.get(), globals.get());
    if (function == nullptr) return false;
  }
  const Owned result = Owned::steal(PyObject_CallOneArg(function, Py_None));
  if (result) return true;
  // The helper's frame is the newest entry of the traceback; the caller's comes in its place.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Owned rest;
  if (traceback != nullptr) {
    auto* entry = reinterpret_cast<PyTracebackObject*>(traceback);
    rest = Owned::copy(reinterpret_cast<PyObject*>(entry->tb_next));
    Py_DECREF(traceback);
  }
  PyException_SetTraceback(value, rest ? rest.get() : Py_None);
  PyErr_Restore(type, value, rest.release());
  return false;
}

bool is_native_code(PyCodeObject* code) { return code->co_filename == marker(); }

}  // namespace triptych::capture
