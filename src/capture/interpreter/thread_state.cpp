#include "capture/interpreter/thread_state.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "capture/interpreter/cpython.h"
#include "capture/interpreter/native_code.h"

namespace triptych::capture {
namespace {

#if PY_VERSION_HEX >= 0x030c0000
template <class Monitors>
bool any_tool(const Monitors& monitors) {
  static const Monitors none{};
  return std::memcmp(&monitors, &none, sizeof none) != 0;
}
#endif

// The lowest address that a frame may still start at.
std::uintptr_t lowest_address() {
  constexpr std::size_t kReserve = 256 << 10;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  const int failed = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return 0;
  return reinterpret_cast<std::uintptr_t>(lowest) + std::min(kReserve, size / 4);
}

}  // namespace

bool watched_by_tool(PyThreadState* thread, PyCodeObject* code) {
#if PY_VERSION_HEX < 0x030c0000
  static_cast<void>(code);
  return thread->cframe->use_tracing != 0 || thread->tracing != 0;
#else
  if (thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr || thread->tracing != 0) {
    return true;
  }
  if (any_tool(thread->interp->monitors)) return true;
  return code->_co_monitoring != nullptr && any_tool(code->_co_monitoring->local_monitors);
#endif
}

void tell_tracer_of_exception(PyThreadState* thread, Borrowed frame_object) {
  if (thread->c_tracefunc == nullptr || thread->tracing != 0) return;
  Owned exception = take_raised_exception();
  const Owned traceback = Owned::steal(PyException_GetTraceback(exception.get()));
  const Owned told =
      Owned::steal(PyTuple_Pack(3, PyExceptionInstance_Class(exception.get()), exception.get(),
                                traceback ? traceback.get() : Py_None));
  if (!told) return;
  PyThreadState_EnterTracing(thread);
  const int failed =
      thread->c_tracefunc(thread->c_traceobj, reinterpret_cast<PyFrameObject*>(frame_object.get()),
                          PyTrace_EXCEPTION, told.get());
  PyThreadState_LeaveTracing(thread);
  if (failed == 0) raise_again(std::move(exception));
}

bool interrupt_pending(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030d0000
  constexpr uintptr_t kEvents = 0xff;  // above them: the version of the instrumentation
  return (thread->eval_breaker & kEvents) != 0;
#else
  return thread->interp->ceval.eval_breaker._value != 0;
#endif
}

bool handle_interrupts(PyThreadState* thread) {
  // Signal handlers get the current frame: they must run before the helper's frame becomes that.
  if (PyErr_CheckSignals() < 0) return false;
  if (!interrupt_pending(thread)) return true;
  return run_interrupt_point();
}

Owned swap_handled_exception(PyThreadState* thread, Owned exception) {
  Owned old = Owned::steal(thread->exc_info->exc_value);
  thread->exc_info->exc_value = exception.release();
  return old;
}

Owned topmost_handled_exception() {
  Owned exception = Owned::steal(PyErr_GetHandledException());
  return exception.get() == Py_None ? Owned() : std::move(exception);
}

Owned take_raised_exception() {
#if PY_VERSION_HEX >= 0x030c0000
  return Owned::steal(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetTraceback(value, traceback != nullptr ? traceback : Py_None);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Owned::steal(value);
#endif
}

void raise_again(Owned exception) {
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(exception.release());
#else
  PyObject* type = Py_NewRef(PyExceptionInstance_Class(exception.get()));
  PyObject* traceback = PyException_GetTraceback(exception.get());
  PyErr_Restore(type, exception.release(), traceback);
#endif
}

bool enter_frame_level(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030c0000
  if (thread->py_recursion_remaining <= 1 || thread->c_recursion_remaining <= 1) return false;
  --thread->py_recursion_remaining;
  --thread->c_recursion_remaining;
#else
  if (thread->recursion_remaining <= 1) return false;
  --thread->recursion_remaining;
#endif
  return true;
}

void leave_frame_level(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030c0000
  ++thread->py_recursion_remaining;
  ++thread->c_recursion_remaining;
#else
  ++thread->recursion_remaining;
#endif
}

bool c_stack_is_short() {
  static thread_local const std::uintptr_t lowest = lowest_address();
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < lowest;
}

}  // namespace triptych::capture
