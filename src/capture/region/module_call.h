// What `module(...)` does beside its `forward`: hooks, a compiled call.
#pragma once

#include "capture/region/capture_result.h"

namespace triptych::capture {

// Adds the guards that a call of the nn.Module is a call of its class' `forward`, whose first
// argument it is.
void guard_module_call(CaptureResult& captured, const PyCodeObject* forward);

// Whether it is so now.
bool calls_forward_only(PyObject* module);

}  // namespace triptych::capture
