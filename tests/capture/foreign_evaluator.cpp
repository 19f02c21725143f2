#include "foreign_evaluator.h"

struct _PyInterpreterFrame;

namespace triptych::capture {
namespace {

long frames_counted = 0;

PyObject* count(PyThreadState* thread, _PyInterpreterFrame* frame, int raised) {
  ++frames_counted;
  return _PyEval_EvalFrameDefault(thread, frame, raised);
}

}  // namespace

PyObject* call_under_foreign_evaluator(PyObject* callable) {
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  const _PyFrameEvalFunction before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  frames_counted = 0;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, count);
  PyObject* result = PyObject_CallNoArgs(callable);
  const bool still = _PyInterpreterState_GetEvalFrameFunc(interpreter) == count;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, before);
  if (result == nullptr) return nullptr;
  return Py_BuildValue("(NlN)", result, frames_counted, PyBool_FromLong(still));
}

}  // namespace triptych::capture
