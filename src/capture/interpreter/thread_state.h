// What the interpreter asks of CPython's state of the running thread.
#pragma once

#include <Python.h>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

// A debugger, profiler, tracer or monitoring tool wants to see the code run: only CPython's
// evaluator tells it.
bool watched_by_tool(PyThreadState* thread, PyCodeObject* code);

// Calls the trace function with the exception that is set, as CPython does where one is raised.
// What the function raises takes the exception's place.
void tell_tracer_of_exception(PyThreadState* thread, Borrowed frame_object);

// Signals, pending calls, a request for the GIL, an exception from another thread, the cycle
// collector (3.12+).
bool interrupt_pending(PyThreadState* thread);
bool handle_interrupts(PyThreadState* thread);  // false: an exception is set

// The exception that an `except` or `finally` block is handling, in the innermost frame or
// generator only.
Owned swap_handled_exception(PyThreadState* thread, Owned exception);
// The same, looking through the callers too; null when there is none.
Owned topmost_handled_exception();

// The exception being raised, with its traceback set on it.
Owned take_raised_exception();
void raise_again(Owned exception);

// CPython counts how deep Python calls nest. Interpreting a frame counts as CPython's evaluator
// does; when nothing is left, that one raises the error itself.
bool enter_frame_level(PyThreadState* thread);
void leave_frame_level(PyThreadState* thread);

// With an evaluator installed each Python call is a C call, which CPython 3.11 does not count. True
// when little of this thread's C stack is left: a frame must then end with a RecursionError rather
// than the process with a crash.
bool c_stack_is_short();

}  // namespace triptych::capture
