// Steps of a guard program that follow a source by one step.
#pragma once

#include "capture/guards/guard_step.h"

namespace triptych::capture {

// The step that loads a source of this kind; `from` and `to` are set by the caller. Objects that
// the step names stay alive with the source. False with a Python exception set when the object
// cannot be walked like that (a descriptor of another kind).
bool make_load(const Source& source, GuardStep& step);

// The object's own dict, made when it has none yet but its attributes are kept elsewhere; null:
// none.
PyObject* instance_dict(PyObject* object);

}  // namespace triptych::capture
