// What was interpreted, and what CPython ran instead.
#pragma once

#include <array>
#include <cstdint>

#include "capture/interpreter/opcode_table.h"

namespace triptych::capture {

struct Statistics {
  std::uint64_t instructions = 0;
  std::uint64_t frames = 0;    // entries: a generator counts each time it is resumed
  std::uint64_t segments = 0;  // frames entered anew in the middle
  std::uint64_t moves = 0;     // frames that went on in a fresh one
  std::uint64_t returns = 0;   // frames that an observer ended
  std::uint64_t handled = 0;   // exceptions that a handler of an interpreted frame took
  std::uint64_t unwound = 0;   // frames that an exception ended
  std::uint64_t native =
      0;  // frames left to CPython wholly: a tool watches, no recursion depth left
  std::uint64_t chosen = 0;  // frames handed over because the observer said so
  // Frames handed over at an instruction, by its opcode.
  std::array<std::uint64_t, kOpCount> handed_over{};
};

}  // namespace triptych::capture
