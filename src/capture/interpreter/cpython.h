// CPython as the interpreter needs it: the public API, and the frame and interpreter structs of the
// minor version that builds us. Only the interpreter's own .cpp files include this; its headers get
// by with Python.h.
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
// The C atomics are no C++; with the compiler's own the structs are laid out the same.
#undef HAVE_STD_ATOMIC
extern "C" {
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_dict.h>
#include <internal/pycore_list.h>
#include <internal/pycore_pyerrors.h>
#include <internal/pycore_setobject.h>
#include <internal/pycore_unicodeobject.h>
#endif
}

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030e0000
#error "the frames of this CPython version are not known: see docs/capture_interpreter.md"
#endif
#ifdef Py_GIL_DISABLED
#error "free-threaded builds are not supported"
#endif
