// Raising, handling, `with`.
#include <opcode.h>
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/native_code.h"
#include "capture/interpreter/semantics.h"
#include "capture/interpreter/thread_state.h"

namespace triptych::capture::semantics {

// [exception] -> [the one handled before, exception]
Flow push_exc_info(Activation& a, const Instruction&) {
  Owned raised = a.pop();
  Owned before = swap_handled_exception(a.thread(), Owned::copy(raised.get()));
  a.push(before ? std::move(before) : Owned::copy(Py_None));
  a.push(std::move(raised));
  return Flow::kNext;
}

Flow pop_except(Activation& a, const Instruction&) {
  Owned before = a.pop();
  const bool none = before.get() == Py_None;
  swap_handled_exception(a.thread(), none ? Owned() : std::move(before));
  return Flow::kNext;
}

namespace {

constexpr char kCannotCatch[] =
    "catching classes that do not inherit from BaseException is not allowed";

bool valid_exception_classes(Borrowed classes) {
  const bool many = PyTuple_Check(classes.get());
  const Py_ssize_t count = many ? PyTuple_GET_SIZE(classes.get()) : 1;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* each = many ? PyTuple_GET_ITEM(classes.get(), k) : classes.get();
    if (PyExceptionClass_Check(each)) continue;
    PyErr_SetString(PyExc_TypeError, kCannotCatch);
    return false;
  }
  return true;
}

}  // namespace

Flow check_exc_match(Activation& a, const Instruction&) {
  const Owned classes = a.pop();
  if (!valid_exception_classes(classes.borrow())) return Flow::kRaise;
  const int matches = PyErr_GivenExceptionMatches(a.peek(), classes.get());
  a.push(Owned::copy(matches ? Py_True : Py_False));
  return Flow::kNext;
}

// except*: [exception, classes] -> [what does not match, what does]
Flow check_eg_match(Activation& a, const Instruction&) {
  const Owned classes = a.pop();
  const Owned exception = a.pop();
  const Borrowed operands[] = {exception.borrow(), classes.borrow()};
  const Owned both = run_native_instruction(CHECK_EG_MATCH, 0, operands, a.frame().globals(), 2);
  if (!both) return Flow::kRaise;
  a.push(Owned::copy(PyTuple_GET_ITEM(both.get(), 0)));
  a.push(Owned::copy(PyTuple_GET_ITEM(both.get(), 1)));
  return Flow::kNext;
}

Flow prep_reraise_star(Activation& a, const Instruction&) {
  const Owned raised = a.pop();
  const Owned original = a.pop();
#if PY_VERSION_HEX >= 0x030c0000
  return a.push_result(PyUnstable_Exc_PrepReraiseStar(original.get(), raised.get()));
#else
  const Borrowed operands[] = {original.borrow(), raised.borrow()};
  return a.push_result(
      run_native_instruction(PREP_RERAISE_STAR, 0, operands, a.frame().globals()).release());
#endif
}

namespace {

// An exception goes on through this frame. Where no block of it would catch it, CPython is to do
// it: the frame is not to join the traceback again.
Flow raise_on(Activation& a, Borrowed exception) {
  if (a.handler() == nullptr) return Flow::kLeave;
  raise_again(Owned::copy(exception));
  return Flow::kReraise;
}

}  // namespace

// With an argument the stack holds, below, the unit that raised first: the frame's position becomes
// that again.
Flow reraise(Activation& a, const Instruction& i) {
  if (a.handler() == nullptr) return Flow::kLeave;
  const Owned exception = a.pop();
  if (i.arg != 0) {
    PyObject* unit = a.peek(i.arg);
    if (!PyLong_Check(unit)) {
      PyErr_SetString(PyExc_SystemError, "lasti is not an int");
      return Flow::kRaise;
    }
    a.frame().set_executing(static_cast<int>(PyLong_AsLong(unit)));
  }
  return raise_on(a, exception.borrow());
}

namespace {

Owned instantiated(Borrowed exception_class) {
  Owned instance = Owned::steal(PyObject_CallNoArgs(exception_class));
  if (instance && !PyExceptionInstance_Check(instance.get())) {
    PyErr_Format(PyExc_TypeError,
                 "calling %R should have returned an instance of BaseException, not %R",
                 exception_class.get(), Py_TYPE(instance.get()));
    return {};
  }
  return instance;
}

Owned exception_to_raise(Borrowed given) {
  if (PyExceptionClass_Check(given.get())) return instantiated(given);
  if (PyExceptionInstance_Check(given.get())) return Owned::copy(given);
  PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
  return {};
}

bool set_cause(Borrowed exception, Borrowed given) {
  Owned cause;
  if (PyExceptionClass_Check(given.get())) {
    cause = PY_VERSION_HEX >= 0x030d0000 ? instantiated(given)
                                         : Owned::steal(PyObject_CallNoArgs(given));
    if (!cause) return false;
  } else if (PyExceptionInstance_Check(given.get())) {
    cause = Owned::copy(given);
  } else if (given.get() != Py_None) {
    PyErr_SetString(PyExc_TypeError, "exception causes must derive from BaseException");
    return false;
  }
  PyException_SetCause(exception, cause.release());
  return true;
}

Flow raise_handled(Activation& a) {
  const Owned exception = topmost_handled_exception();
  if (exception) return raise_on(a, exception.borrow());
  PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
  return Flow::kRaise;
}

}  // namespace

Flow raise_varargs(Activation& a, const Instruction& i) {
  if (i.arg == 0) return raise_handled(a);
  const Owned cause = i.arg == 2 ? a.pop() : Owned();
  const Owned given = a.pop();
  const Owned exception = exception_to_raise(given.borrow());
  if (!exception) return Flow::kRaise;
  if (cause && !set_cause(exception.borrow(), cause.borrow())) return Flow::kRaise;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(exception.get()));
  PyErr_SetObject(PyExceptionClass_Check(given.get()) ? given.get() : type, exception.get());
  return Flow::kRaise;
}

namespace {

struct Protocol {
  const char* enter;
  const char* exit;
  const char* missing_enter;
  const char* missing_exit;
};

Owned special_method(Borrowed object, const char* name, const char* missing) {
  const Owned key = Owned::steal(PyUnicode_InternFromString(name));
  if (!key) return {};
  Owned method = Owned::steal(_PyObject_LookupSpecial(object, key.get()));
  if (!method && !PyErr_Occurred()) raise_type_error(missing, object);
  return method;
}

// [manager] -> [bound exit method, what the enter method returned]
Flow enter_manager(Activation& a, const Protocol& protocol) {
  const Borrowed manager = a.peek();
  const Owned enter = special_method(manager, protocol.enter, protocol.missing_enter);
  if (!enter) return Flow::kRaise;
  Owned exit = special_method(manager, protocol.exit, protocol.missing_exit);
  if (!exit) return Flow::kRaise;
  a.pop();
  a.push(std::move(exit));
  return a.push_result(PyObject_CallNoArgs(enter.get()));
}

}  // namespace

Flow before_with(Activation& a, const Instruction&) {
  return enter_manager(
      a,
      {"__enter__", "__exit__", "'%.200s' object does not support the context manager protocol",
       "'%.200s' object does not support the context manager protocol (missed __exit__ method)"});
}

Flow before_async_with(Activation& a, const Instruction&) {
  return enter_manager(
      a, {"__aenter__", "__aexit__",
          "'%.200s' object does not support the asynchronous context manager protocol",
          "'%.200s' object does not support the asynchronous context manager protocol (missed "
          "__aexit__ method)"});
}

// [exit method, unit, exception handled before, exception] -> the same and what the exit method
// returned
Flow with_except_start(Activation& a, const Instruction&) {
  const Borrowed exception = a.peek(1);
  const Borrowed exit = a.peek(4);
  const Owned traceback = Owned::steal(PyException_GetTraceback(exception));
  PyObject* arguments[] = {nullptr, PyExceptionInstance_Class(exception.get()), exception,
                           traceback ? traceback.get() : Py_None};
  return a.push_result(
      PyObject_Vectorcall(exit, arguments + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

// An exception thrown into a frame that waits for another generator: the end of that one is its
// value.
Flow cleanup_throw(Activation& a, const Instruction&) {
  const Borrowed exception = a.peek();
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) return raise_on(a, exception);
  const Owned stop = a.pop();
  a.drop(2);
  a.push(Owned::copy(Py_None));
  a.push(Owned::copy(reinterpret_cast<PyStopIterationObject*>(stop.get())->value));
  return Flow::kNext;
}

Flow end_async_for(Activation& a, const Instruction&) {
  const Borrowed exception = a.peek();
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    return raise_on(a, exception);
  }
  a.drop(2);
  return Flow::kNext;
}

}  // namespace triptych::capture::semantics
