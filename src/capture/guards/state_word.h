// The modes of PyTorch that change what a program means, of the calling thread: grad mode,
// autocast, dispatch keys, default dtype, determinism, active modes of `__torch_function__`.
#pragma once

#include <string>

#include "capture/guards/guard.h"

namespace triptych::capture {

StateWord read_state();

// What differs, for people: "grad mode changed: True -> False".
std::string state_change(const StateWord& from, const StateWord& to);

// Some mode is active that takes calls over (torch function modes, dispatch modes, functorch).
bool state_has_modes(const StateWord& state);

}  // namespace triptych::capture
