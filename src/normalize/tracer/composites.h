// Ops that PyTorch takes apart, or whose kernels hide a write, above the tracer's own key. They are
// caught on a second key, which only threads that trace dispatch to: for everybody else an op is
// what it was.
#pragma once

#include <set>
#include <string>

#include "support/result.h"

namespace triptych::normalize {

// Once per process, before the first trace. Unsupported when another library uses the key.
Status register_composites();

// Whether an op that is called now may get other arguments from autocast.
bool autocast_is_on();

// From now on the composite ops of these names ("aten.linear.default") come to
// Trace::keep_composite. Other names are none of this file's business.
void catch_composites(const std::set<std::string>& names);

}  // namespace triptych::normalize
