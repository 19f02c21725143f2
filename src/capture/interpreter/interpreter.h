// The loop over the instructions of one frame.
#pragma once

#include "capture/interpreter/activation.h"
#include "capture/interpreter/observer.h"
#include "capture/interpreter/statistics.h"

namespace triptych::capture {

// Why the loop ended. The activation says where.
enum class Exit : unsigned char {
  kLeave,    // CPython is to go on at the activation's instruction
  kUnwind,   // an exception is set that no block of this frame handles
  kSegment,  // the observer's choice
  kMove,     // the observer's choice
};

// Runs until CPython must take over. With `raised` an exception is set and looks for a handler
// first.
Exit interpret(Activation& activation, bool raised, Observer* observer, Statistics& statistics);

}  // namespace triptych::capture
