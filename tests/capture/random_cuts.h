// An observer that cuts frames at random boundaries. One seed gives one sequence of cuts.
#pragma once

#include <cstdint>

#include "capture/interpreter/observer.h"

namespace triptych::capture {

class RandomCuts final : public Observer {
 public:
  // A cut at one of `every` boundaries on average; `kinds` is a set of bits: 1 delegate, 2 segment,
  // 4 move.
  RandomCuts(std::uint64_t seed, std::uint32_t every, unsigned kinds)
      : state_(seed * 2 + 1), every_(every), kinds_(kinds) {}

  Choice at_boundary(Activation&, const Instruction&) override;

 private:
  std::uint32_t next();

  std::uint64_t state_;
  std::uint32_t every_;
  unsigned kinds_;
};

}  // namespace triptych::capture
