// The loop over the instructions of one frame.
#pragma once

#include "capture/interpreter/activation.h"
#include "capture/interpreter/observer.h"
#include "capture/interpreter/statistics.h"

namespace triptych::capture {

// Runs until CPython must take over. With `raised` an exception is set and looks for a handler
// first.
Exit interpret(Activation& activation, bool raised, Observer* observer, Statistics& statistics);

}  // namespace triptych::capture
