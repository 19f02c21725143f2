// Generators, coroutines, asynchronous iteration.
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {
namespace {

int code_flags(Borrowed generator) {
#if PY_VERSION_HEX >= 0x030c0000
  const Owned code = Owned::steal(
      reinterpret_cast<PyObject*>(PyGen_GetCode(reinterpret_cast<PyGenObject*>(generator.get()))));
  return reinterpret_cast<PyCodeObject*>(code.get())->co_flags;
#else
  return reinterpret_cast<PyGenObject*>(generator.get())->gi_code->co_flags;
#endif
}

bool is_awaitable_itself(Borrowed object) {
  if (PyCoro_CheckExact(object.get())) return true;
  return PyGen_CheckExact(object.get()) && (code_flags(object) & CO_ITERABLE_COROUTINE);
}

// What `await object` iterates over.
Owned awaitable_iterator(Borrowed object) {
  if (is_awaitable_itself(object)) return Owned::copy(object);
  const PyAsyncMethods* methods = Py_TYPE(object.get())->tp_as_async;
  if (methods == nullptr || methods->am_await == nullptr) {
    raise_type_error("object %.100s can't be used in 'await' expression", object);
    return {};
  }
  Owned iterator = Owned::steal(methods->am_await(object));
  if (!iterator) return {};
  if (is_awaitable_itself(iterator.borrow())) {
    PyErr_SetString(PyExc_TypeError, "__await__() returned a coroutine");
    return {};
  }
  if (!PyIter_Check(iterator.get())) {
    raise_type_error("__await__() returned non-iterator of type '%.100s'", iterator.borrow());
    return {};
  }
  return iterator;
}

// `async with` says which of its methods gave something that cannot be awaited.
void explain_not_awaitable(Borrowed object, int where) {
  const PyAsyncMethods* methods = Py_TYPE(object.get())->tp_as_async;
  if (methods != nullptr && methods->am_await != nullptr) return;
  if (where == 1) {
    raise_type_error(
        "'async with' received an object from __aenter__ that does not implement __await__: %.100s",
        object);
  } else if (where == 2) {
    raise_type_error(
        "'async with' received an object from __aexit__ that does not implement __await__: %.100s",
        object);
  }
}

bool awaited_already(Borrowed coroutine) {
  const Owned inner = Owned::steal(PyObject_GetAttrString(coroutine, "cr_await"));
  return inner && inner.get() != Py_None;
}

}  // namespace

Flow get_awaitable(Activation& a, const Instruction& i) {
  const Owned object = a.pop();
  Owned iterator = awaitable_iterator(object.borrow());
  if (!iterator) {
    explain_not_awaitable(object.borrow(), i.arg);
    return Flow::kRaise;
  }
  if (PyCoro_CheckExact(iterator.get()) && awaited_already(iterator.borrow())) {
    PyErr_SetString(PyExc_RuntimeError, "coroutine is being awaited already");
    return Flow::kRaise;
  }
  a.push(std::move(iterator));
  return Flow::kNext;
}

Flow get_yield_from_iter(Activation& a, const Instruction&) {
  const Borrowed object = a.peek();
  if (PyCoro_CheckExact(object.get())) {
    if (a.code()->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return Flow::kNext;
    PyErr_SetString(PyExc_TypeError,
                    "cannot 'yield from' a coroutine object in a non-coroutine generator");
    return Flow::kRaise;
  }
  if (PyGen_CheckExact(object.get())) return Flow::kNext;
  return a.push_result(PyObject_GetIter(a.pop().get()));
}

Flow get_aiter(Activation& a, const Instruction&) {
  const Owned object = a.pop();
  const PyAsyncMethods* methods = Py_TYPE(object.get())->tp_as_async;
  if (methods == nullptr || methods->am_aiter == nullptr) {
    return raise_type_error("'async for' requires an object with __aiter__ method, got %.100s",
                            object.borrow());
  }
  Owned iterator = Owned::steal(methods->am_aiter(object.get()));
  if (!iterator) return Flow::kRaise;
  methods = Py_TYPE(iterator.get())->tp_as_async;
  if (methods == nullptr || methods->am_anext == nullptr) {
    return raise_type_error(
        "'async for' received an object from __aiter__ that does not implement __anext__: %.100s",
        iterator.borrow());
  }
  a.push(std::move(iterator));
  return Flow::kNext;
}

Flow get_anext(Activation& a, const Instruction&) {
  const Borrowed iterator = a.peek();
  const PyAsyncMethods* methods = Py_TYPE(iterator.get())->tp_as_async;
  if (methods == nullptr || methods->am_anext == nullptr) {
    return raise_type_error("'async for' requires an iterator with __anext__ method, got %.100s",
                            iterator);
  }
  Owned next = Owned::steal(methods->am_anext(iterator));
  if (!next) return Flow::kRaise;
  if (PyAsyncGen_CheckExact(iterator.get())) {
    a.push(std::move(next));
    return Flow::kNext;
  }
  Owned awaitable = awaitable_iterator(next.borrow());
  if (!awaitable) {
    _PyErr_FormatFromCause(PyExc_TypeError,
                           "'async for' received an invalid object from __anext__: %.100s",
                           Py_TYPE(next.get())->tp_name);
    return Flow::kRaise;
  }
  a.push(std::move(awaitable));
  return Flow::kNext;
}

// [iterator, value to send] -> [iterator, what it yields], or at its end a jump with its result.
// Until 3.11 the iterator is gone then; later END_SEND drops it.
Flow send(Activation& a, const Instruction&) {
  const Owned value = a.pop();
  PyObject* result = nullptr;
  switch (PyIter_Send(a.peek(), value.get(), &result)) {
    case PYGEN_NEXT:
      return a.push_result(result);
    case PYGEN_RETURN:
      if (PY_VERSION_HEX < 0x030c0000) a.pop();
      a.push(Owned::steal(result));
      return Flow::kJump;
    case PYGEN_ERROR:
      break;
  }
  return Flow::kRaise;
}

// A StopIteration that leaves a generator's body becomes a RuntimeError.
Flow stopiteration_error(Activation& a, const Instruction&) {
  Owned exception = a.pop();
  const int flags = a.code()->co_flags;
  const char* text = nullptr;
  if (PyErr_GivenExceptionMatches(exception.get(), PyExc_StopIteration)) {
    text = flags & CO_ASYNC_GENERATOR ? "async generator raised StopIteration"
           : flags & CO_COROUTINE     ? "coroutine raised StopIteration"
                                      : "generator raised StopIteration";
  } else if ((flags & CO_ASYNC_GENERATOR) &&
             PyErr_GivenExceptionMatches(exception.get(), PyExc_StopAsyncIteration)) {
    text = "async generator raised StopAsyncIteration";
  }
  if (text == nullptr) {
    a.push(std::move(exception));
    return Flow::kNext;
  }
  PyObject* error = PyObject_CallFunction(PyExc_RuntimeError, "s", text);
  if (error == nullptr) return Flow::kRaise;
  PyException_SetCause(error, Py_NewRef(exception.get()));
  PyException_SetContext(error, exception.release());
  return a.push_result(error);
}

}  // namespace triptych::capture::semantics
