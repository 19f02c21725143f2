// Calls and making functions.
#include "capture/interpreter/call_site.h"
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture::semantics {
namespace {

Flow finish_call(Activation& a, PyObject* result, int operands) {
  // From the bottom, as CPython does: the order shows in destructors.
  PyObject** base = a.operands(operands);
  a.forget(operands);
  for (int k = 0; k < operands; ++k) Py_XDECREF(base[k]);
  if (result == nullptr) return Flow::kRaise;
  a.push_result(result);
  return a.poll();
}

}  // namespace

Flow call(Activation& a, const Instruction& i) {
  const CallSite site = call_site(a, i);
  PyObject* result =
      PyObject_Vectorcall(site.callable, site.arguments,
                          site.positional | PY_VECTORCALL_ARGUMENTS_OFFSET, site.keyword_names);
  return finish_call(a, result, site.operands);
}

// The names of the keywords are on the stack.
Flow call_kw(Activation& a, const Instruction& i) { return call(a, i); }

namespace {

bool make_tuple(Activation& a, Borrowed callable, int place) {
  PyObject*& arguments = a.slot_from_top(place);
  if (PyTuple_CheckExact(arguments)) return true;
  if (Py_TYPE(arguments)->tp_iter == nullptr && !PySequence_Check(arguments)) {
    const Owned text = Owned::steal(_PyObject_FunctionStr(callable));
    if (text) {
      PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s",
                   text.get(), Py_TYPE(arguments)->tp_name);
    }
    return false;
  }
  PyObject* tuple = PySequence_Tuple(arguments);
  if (tuple == nullptr) return false;
  Py_SETREF(arguments, tuple);
  return true;
}

}  // namespace

Flow call_function_ex(Activation& a, const Instruction& i) {
  const int with_keywords = i.arg & 1;
  const int arguments = 1 + with_keywords;
  // Until 3.12 the place for `self` is below the callable, from 3.13 between it and the arguments.
  const Borrowed callable = a.peek(arguments + (PY_VERSION_HEX >= 0x030d0000 ? 2 : 1));
  if (!make_tuple(a, callable, arguments)) return Flow::kRaise;
  const Borrowed keywords = with_keywords ? a.peek() : Borrowed();
  PyObject* result = PyObject_Call(callable, a.peek(arguments), keywords);
  return finish_call(a, result, arguments + 2);
}

namespace {

// The key that two dictionaries share, of the KeyError that is set, which is cleared then. Null:
// another error.
Owned duplicate_key() {
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return {};
  Owned error = take_raised_exception();
  PyObject* key_args = reinterpret_cast<PyBaseExceptionObject*>(error.get())->args;
  if (PyTuple_Check(key_args) && PyTuple_GET_SIZE(key_args) == 1) {
    return Owned::copy(PyTuple_GET_ITEM(key_args, 0));
  }
  raise_again(std::move(error));
  return {};
}

Flow merge_error(Borrowed callable, Borrowed keywords) {
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    const Owned text = Owned::steal(_PyObject_FunctionStr(callable));
    if (text) {
      PyErr_Format(PyExc_TypeError, "%U argument after ** must be a mapping, not %.200s",
                   text.get(), Py_TYPE(keywords.get())->tp_name);
    }
  } else if (const Owned key = duplicate_key()) {
    const Owned text = Owned::steal(_PyObject_FunctionStr(callable));
    if (text) {
      PyErr_Format(PyExc_TypeError, "%U got multiple values for keyword argument '%S'", text.get(),
                   key.get());
    }
  }
  return Flow::kRaise;
}

}  // namespace

// **keywords into the dictionary of a call's keywords.
Flow dict_merge(Activation& a, const Instruction& i) {
  constexpr int kDuplicatesAreErrors = 2;
  const Owned keywords = a.pop();
  if (_PyDict_MergeEx(a.peek(i.arg), keywords.get(), kDuplicatesAreErrors) == 0) return Flow::kNext;
  return merge_error(a.peek(i.arg + (PY_VERSION_HEX >= 0x030d0000 ? 3 : 2)), keywords.borrow());
}

namespace {

enum FunctionAttribute : int {
  kDefaults = 1,
  kKeywordDefaults = 2,
  kAnnotations = 4,
  kClosure = 8,
};

// A new function has none of them: nothing is replaced.
void set_attribute(Borrowed function, int attribute, Owned value) {
  auto* object = reinterpret_cast<PyFunctionObject*>(function.get());
  switch (attribute) {
    case kDefaults:
      object->func_defaults = value.release();
      break;
    case kKeywordDefaults:
      object->func_kwdefaults = value.release();
      break;
    case kAnnotations:
      object->func_annotations = value.release();
      break;
    case kClosure:
      object->func_closure = value.release();
      break;
    default:
      break;
  }
}

}  // namespace

Flow make_function(Activation& a, const Instruction& i) {
  const Owned code = a.pop();
  Owned function = Owned::steal(PyFunction_New(code.get(), a.frame().globals()));
  if (!function) return Flow::kRaise;
  if (PY_VERSION_HEX < 0x030d0000) {
    for (int attribute : {kClosure, kAnnotations, kKeywordDefaults, kDefaults}) {
      if (i.arg & attribute) set_attribute(function.borrow(), attribute, a.pop());
    }
  }
  a.push(std::move(function));
  return Flow::kNext;
}

Flow set_function_attribute(Activation& a, const Instruction& i) {
  Owned function = a.pop();
  set_attribute(function.borrow(), i.arg, a.pop());
  a.push(std::move(function));
  return Flow::kNext;
}

}  // namespace triptych::capture::semantics
