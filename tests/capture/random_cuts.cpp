#include "random_cuts.h"

namespace triptych::capture {

// A linear congruential generator, its upper bits: enough to choose places.
std::uint32_t RandomCuts::next() {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<std::uint32_t>(state_ >> 33);
}

Choice RandomCuts::at_boundary(Activation&, const Instruction&) {
  constexpr Choice kChoices[] = {Choice::kDelegate, Choice::kSegment, Choice::kMove};
  if (kinds_ == 0 || next() % every_ != 0) return Choice::kInterpret;
  while (true) {
    const std::uint32_t kind = next() % 3;
    if (kinds_ & (1U << kind)) return kChoices[kind];
  }
}

}  // namespace triptych::capture
