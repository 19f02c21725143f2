// Captures what a function does from a point on: runs it once on the side, with fakes for its
// tensors, and says what graph, guards and effects stand for it. Nothing of the run remains.
#pragma once

#include "capture/region/capture_result.h"
#include "support/result.h"

namespace triptych::capture {

// Needs the GIL and no exception set. Unsupported: nothing can be captured there; the code and
// message say why.
Result<CaptureResult> capture(const CaptureRequest& request);

}  // namespace triptych::capture
