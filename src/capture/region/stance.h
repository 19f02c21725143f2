// What `torch.compiler.set_stance` asks of every compiled function of the process.
#pragma once

#include <cstdint>

namespace triptych::capture {

enum class Stance : std::uint8_t {
  kDefault,
  kForceEager,
  kEagerOnRecompile,
  kFailOnRecompile,
  kEagerThenCompile,
};

Stance current_stance();

}  // namespace triptych::capture
