#include "capture/region/graph_run.h"

#include <algorithm>

#include "capture/guards/random_state.h"
#include "capture/guards/tensor_facts.h"

namespace triptych::capture {

bool GraphRun::may_change_state(const CaptureResult& captured) {
  const auto is_written = [](const GraphInput& input) { return input.writes != 0; };
  return captured.draws || captured.hides_writes ||
         std::ranges::any_of(captured.inputs, is_written);
}

void GraphRun::begin(const CaptureResult& captured, std::span<PyObject* const> inputs) {
  settles_ = !captured.needs_gradients;
  hidden_ = captured.hides_writes;
  for (std::size_t k = 0; k < captured.inputs.size(); ++k) {
    if (captured.inputs[k].writes == 0 && !captured.hides_writes) continue;
    if (!is_tensor_type(Py_TYPE(inputs[k]))) continue;
    const std::int64_t before = tensor_version(inputs[k]);
    hidden_ |= before < 0;
    if (before >= 0) counts_.push_back({inputs[k], before, captured.inputs[k].writes});
  }
  if (captured.draws) random_ = read_random_state();
}

// Views of one tensor have one count, to which each adds its own.
void GraphRun::settle() const {
  if (!settles_) return;
  for (const Count& count : counts_) set_tensor_version(count.tensor, count.before);
  for (const Count& count : counts_)
    set_tensor_version(count.tensor, tensor_version(count.tensor) + count.writes);
}

bool GraphRun::undo() const {
  const auto is_written = [](const Count& count) {
    return tensor_version(count.tensor) != count.before;
  };
  if (hidden_ || std::ranges::any_of(counts_, is_written)) return false;
  if (random_) write_random_state(random_.get());
  return true;
}

}  // namespace triptych::capture
