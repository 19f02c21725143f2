// What `module(...)` does beside its `forward`: hooks, a compiled call.
#pragma once

#include "capture/interpreter/frame_entry.h"
#include "capture/region/capture_result.h"

namespace triptych::capture {

// Adds the guards that a call of the nn.Module, the first argument of the frame, is a call of its
// class' `forward`.
void guard_module_call(CaptureResult& captured, const FrameState& start);

// Whether it is so now, and that is the function.
bool calls_forward_only(PyObject* module, PyObject* forward);

}  // namespace triptych::capture
