#include "random_cuts.h"

#include "capture/interpreter/evaluator.h"

namespace triptych::capture {

// A linear congruential generator, its upper bits: enough to choose places.
std::uint32_t RandomCuts::next() {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<std::uint32_t>(state_ >> 33);
}

// The rest of the frame runs in another one, whose result becomes this one's.
Choice RandomCuts::return_early(Activation& activation, const Instruction& instruction) {
  constexpr int kMostNested = 16;
  Frame& frame = activation.frame();
  if (early_ == kMostNested || !can_be_moved(frame)) return Choice::kInterpret;
  frame.set_stack_depth(activation.depth());
  activation.forget(activation.depth());
  FrameState state = take_state(frame);
  frame.hide_stack();
  state.unit = instruction.start;
  frame.unlink(activation.thread());
  ++early_;
  activation.result = enter_frame(std::move(state));
  --early_;
  frame.link(activation.thread());
  return Choice::kReturn;
}

Choice RandomCuts::at_boundary(Activation& activation, const Instruction& instruction) {
  if (kinds_ == 0 || next() % every_ != 0) return Choice::kInterpret;
  while (true) {
    const std::uint32_t kind = next() % 4;
    if ((kinds_ & (1U << kind)) == 0) continue;
    switch (kind) {
      case 0:
        return Choice::kDelegate;
      case 1:
        return Choice::kSegment;
      case 2:
        return Choice::kMove;
      default:
        return return_early(activation, instruction);
    }
  }
}

}  // namespace triptych::capture
