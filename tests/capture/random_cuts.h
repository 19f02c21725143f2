// An observer that cuts frames at random boundaries. One seed gives one sequence of cuts.
#pragma once

#include <cstdint>

#include "capture/interpreter/observer.h"

namespace triptych::capture {

class RandomCuts final : public Observer {
 public:
  // A cut at one of `every` boundaries on average; `kinds` is a set of bits: 1 delegate, 2 segment,
  // 4 move, 8 return.
  RandomCuts(std::uint64_t seed, std::uint32_t every, unsigned kinds)
      : state_(seed * 2 + 1), every_(every), kinds_(kinds) {}

  Choice at_boundary(Activation& activation, const Instruction& instruction) override;

 private:
  std::uint32_t next();
  Choice return_early(Activation& activation, const Instruction& instruction);

  std::uint64_t state_;
  std::uint32_t every_;
  unsigned kinds_;
  int early_ = 0;  // frames whose rest runs in another frame
};

}  // namespace triptych::capture
