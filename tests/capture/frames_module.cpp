// `_frames`: what the tests of the interpreter call.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <memory>

#include "call_replacer.h"
#include "capture/interpreter/evaluator.h"
#include "capture/interpreter/opcode_facts.h"
#include "capture/interpreter/self_test.h"
#include "foreign_evaluator.h"
#include "random_cuts.h"

namespace triptych::capture {
namespace {

Statistics last_statistics;

PyObject* run_with(Observer* observer, PyObject* callable, PyObject* args, PyObject* kwargs) {
  InterpreterScope scope(observer);
  if (!scope.active()) {
    PyErr_SetString(PyExc_RuntimeError, "another thread is being interpreted");
    return nullptr;
  }
  PyObject* result = PyObject_Call(callable, args, kwargs);
  last_statistics = scope.statistics();
  return result;
}

// run(callable, *args, **kwargs): the result, every frame interpreted.
PyObject* run(PyObject*, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) < 1) {
    PyErr_SetString(PyExc_TypeError, "run() needs a callable");
    return nullptr;
  }
  const Owned rest = Owned::steal(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  return rest ? run_with(nullptr, PyTuple_GET_ITEM(args, 0), rest.get(), kwargs) : nullptr;
}

// Leaves every frame to CPython: what the evaluator's presence alone changes.
class LeaveAll final : public Observer {
 public:
  bool enter(const Frame&) override { return false; }
};

// run_native(callable, *args, **kwargs): the result, no frame interpreted although the evaluator is
// installed.
PyObject* run_native(PyObject*, PyObject* args, PyObject* kwargs) {
  const Owned rest = Owned::steal(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  LeaveAll leave_all;
  return rest ? run_with(&leave_all, PyTuple_GET_ITEM(args, 0), rest.get(), kwargs) : nullptr;
}

// run_cut(seed, every, kinds, callable, *args, **kwargs): the same, cut at random boundaries.
PyObject* run_cut(PyObject*, PyObject* args, PyObject* kwargs) {
  const Owned head = Owned::steal(PyTuple_GetSlice(args, 0, 4));
  unsigned long long seed = 0;
  unsigned every = 1, kinds = 0;
  PyObject* callable = nullptr;
  if (!head || !PyArg_ParseTuple(head.get(), "KIIO", &seed, &every, &kinds, &callable))
    return nullptr;
  const Owned rest = Owned::steal(PyTuple_GetSlice(args, 4, PyTuple_GET_SIZE(args)));
  if (!rest) return nullptr;
  RandomCuts cuts(seed, every, kinds);
  return run_with(&cuts, callable, rest.get(), kwargs);
}

// run_replacing(target, result, callable, *args): (its result, counts of what the observer saw).
PyObject* run_replacing(PyObject*, PyObject* args) {
  const Owned head = Owned::steal(PyTuple_GetSlice(args, 0, 3));
  PyObject *target = nullptr, *replacement = nullptr, *callable = nullptr;
  if (!head || !PyArg_ParseTuple(head.get(), "OOO", &target, &replacement, &callable)) {
    return nullptr;
  }
  const Owned rest = Owned::steal(PyTuple_GetSlice(args, 3, PyTuple_GET_SIZE(args)));
  if (!rest) return nullptr;
  CallReplacer replacer(target, replacement);
  PyObject* result = run_with(&replacer, callable, rest.get(), nullptr);
  if (result == nullptr) return nullptr;
  return Py_BuildValue("(N{sisisisisi})", result, "entered", replacer.entered_count, "left",
                       replacer.left_count, "calls", replacer.call_count, "replaced",
                       replacer.replaced_count, "keywords", replacer.keyword_count);
}

// Statistics of the last run.
PyObject* statistics(PyObject*, PyObject*) {
  const Statistics& s = last_statistics;
  Owned handed_over = Owned::steal(PyDict_New());
  if (!handed_over) return nullptr;
  for (int op = 0; op < kOpCount; ++op) {
    if (s.handed_over[op] == 0) continue;
    const Owned count = Owned::steal(PyLong_FromUnsignedLongLong(s.handed_over[op]));
    if (!count || PyDict_SetItemString(handed_over.get(), kOpNames[op], count.get()) < 0)
      return nullptr;
  }
  return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsN}", "instructions", s.instructions, "frames", s.frames,
                       "segments", s.segments, "moves", s.moves, "returns", s.returns, "handled",
                       s.handled, "unwound", s.unwound, "native", s.native, "chosen", s.chosen,
                       "handed_over", handed_over.release());
}

std::vector<Owned> values_of(PyObject* tuple, PyObject* null) {
  std::vector<Owned> values;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); ++k) {
    PyObject* value = PyTuple_GET_ITEM(tuple, k);
    values.push_back(value == null ? Owned() : Owned::copy(value));
  }
  return values;
}

// enter(function, slots, stack, unit, null, interpreted=False): runs the function from that unit
// on.
PyObject* enter(PyObject*, PyObject* args) {
  PyObject *function = nullptr, *slots = nullptr, *stack = nullptr, *null = nullptr;
  int unit = 0, interpreted = 0;
  if (!PyArg_ParseTuple(args, "O!O!O!iO|p", &PyFunction_Type, &function, &PyTuple_Type, &slots,
                        &PyTuple_Type, &stack, &unit, &null, &interpreted)) {
    return nullptr;
  }
  FrameState state;
  state.function = Owned::copy(function);
  state.slots = values_of(slots, null);
  state.stack = values_of(stack, null);
  state.unit = unit;
  if (!interpreted) return enter_frame(std::move(state)).release();
  InterpreterScope scope;
  PyObject* result = enter_frame(std::move(state)).release();
  last_statistics = scope.statistics();
  return result;
}

// decode(code): (opcode, arg, flags, boundary, start, unit, unit of the target or None) of each
// instruction.
PyObject* decode(PyObject*, PyObject* code) {
  const CodeInfo* info = CodeInfo::of(reinterpret_cast<PyCodeObject*>(code));
  Owned list = info != nullptr ? Owned::steal(PyList_New(0)) : Owned();
  if (!list) return nullptr;
  for (const Instruction& i : info->instructions()) {
    const Owned target = i.target < 0 ? Owned::copy(Py_None)
                                      : Owned::steal(PyLong_FromLong((*info)[i.target].start));
    const Owned row =
        Owned::steal(Py_BuildValue("(siiOiiO)", kOpNames[static_cast<int>(i.op)], i.arg, i.flags,
                                   i.boundary ? Py_True : Py_False, i.start, i.unit, target.get()));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

// handlers(code): (start, end, target, depth, push_unit) in code units.
PyObject* handlers(PyObject*, PyObject* code) {
  const CodeInfo* info = CodeInfo::of(reinterpret_cast<PyCodeObject*>(code));
  Owned list = info != nullptr ? Owned::steal(PyList_New(0)) : Owned();
  if (!list) return nullptr;
  for (const Handler& h : info->exceptions().handlers()) {
    const Owned row = Owned::steal(Py_BuildValue("(iiiiO)", h.start, h.end, h.target, h.depth,
                                                 h.push_unit ? Py_True : Py_False));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

// location(code, unit): (line, end line, column, end column), -1 where the compiler left one out.
PyObject* location(PyObject*, PyObject* args) {
  PyObject* code = nullptr;
  int unit = 0;
  if (!PyArg_ParseTuple(args, "O!i", &PyCode_Type, &code, &unit)) return nullptr;
  const CodeInfo* info = CodeInfo::of(reinterpret_cast<PyCodeObject*>(code));
  if (info == nullptr) return nullptr;
  const Location at = info->location(unit);
  return Py_BuildValue("(iiii)", at.line, at.end_line, at.column, at.end_column);
}

// under_foreign_evaluator(callable): see foreign_evaluator.h.
PyObject* under_foreign_evaluator(PyObject*, PyObject* callable) {
  return call_under_foreign_evaluator(callable);
}

PyObject* installed(PyObject*, PyObject*) { return PyBool_FromLong(evaluator_installed()); }

// self_test(probes=None): None, or why the frames of this CPython cannot be interpreted.
PyObject* run_self_test(PyObject*, PyObject* args) {
  const char* probes = nullptr;
  if (!PyArg_ParseTuple(args, "|s", &probes)) return nullptr;
  const Status status = probes != nullptr ? self_test_with(probes) : self_test();
  if (status.ok()) Py_RETURN_NONE;
  return PyUnicode_FromString(status.error().describe().c_str());
}

PyMethodDef kMethods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"run_cut", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_cut)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"run_native", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_native)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"run_replacing", run_replacing, METH_VARARGS, nullptr},
    {"statistics", statistics, METH_NOARGS, nullptr},
    {"enter", enter, METH_VARARGS, nullptr},
    {"decode", decode, METH_O, nullptr},
    {"handlers", handlers, METH_O, nullptr},
    {"location", location, METH_VARARGS, nullptr},
    {"under_foreign_evaluator", under_foreign_evaluator, METH_O, nullptr},
    {"installed", installed, METH_NOARGS, nullptr},
    {"self_test", run_self_test, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_frames", nullptr, -1, kMethods};

}  // namespace
}  // namespace triptych::capture

PyMODINIT_FUNC PyInit__frames() { return PyModule_Create(&triptych::capture::kModule); }
