// An evaluator of somebody else, which only counts.
#pragma once

#include <Python.h>

namespace triptych::capture {

// Calls with that evaluator installed; (result, frames that it got, it was still installed at the
// end).
PyObject* call_under_foreign_evaluator(PyObject* callable);

}  // namespace triptych::capture
