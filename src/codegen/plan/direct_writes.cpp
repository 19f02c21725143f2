#include "codegen/plan/direct_writes.h"

#include <algorithm>
#include <optional>

#include "codegen/plan/in_place.h"

namespace triptych::plan {

using loops::Buffer;
using loops::BufferId;
using loops::Kernel;

namespace {

SlotId root_of(const Program& program, SlotId id) {
  while (program.slots[id].storage == Slot::Storage::kView) id = program.slots[id].base;
  return id;
}

bool has_checks(const std::vector<loops::Statement>& body) {
  return std::any_of(body.begin(), body.end(), [](const loops::Statement& statement) {
    if (std::holds_alternative<loops::Check>(statement.data)) return true;
    const auto* loop = std::get_if<loops::Loop>(&statement.data);
    return loop != nullptr && has_checks(loop->body);
  });
}

// The first step behind all external ops; none when some kernel may fail.
std::optional<std::size_t> first_safe_step(const Program& program) {
  for (const Kernel& kernel : program.kernels) {
    if (has_checks(kernel.body)) return std::nullopt;
  }
  std::size_t first = 0;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (!std::holds_alternative<LaunchStep>(program.steps[s])) first = s + 1;
  }
  return first;
}

// The one step that has the slot among its buffers before the end, and writes it.
std::optional<std::size_t> maker_of(const Program& program, SlotId contents) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const auto* step = std::get_if<LaunchStep>(&program.steps[s]);
    if (step == nullptr) continue;
    const auto found = std::find(step->buffers.begin(), step->buffers.end(), contents);
    if (found == step->buffers.end()) continue;
    const BufferId buffer{static_cast<std::uint32_t>(found - step->buffers.begin())};
    const bool once = std::count(step->buffers.begin(), step->buffers.end(), contents) == 1;
    const bool writes = program.kernels[step->kernel].buffers[buffer].kind == Buffer::Kind::kOutput;
    return once && writes ? std::optional(s) : std::nullopt;
  }
  return std::nullopt;
}

// No later step writes the slot again (parts of it, by a kernel each).
bool written_once(const Program& program, SlotId contents, std::size_t maker) {
  for (std::size_t s = maker + 1; s < program.steps.size(); ++s) {
    const auto* step = std::get_if<LaunchStep>(&program.steps[s]);
    for (std::size_t i = 0; step != nullptr && i < step->buffers.size(); ++i) {
      const BufferId buffer{static_cast<std::uint32_t>(i)};
      if (root_of(program, step->buffers[i]) == contents &&
          program.kernels[step->kernel].buffers[buffer].kind != Buffer::Kind::kInput)
        return false;
    }
  }
  return true;
}

bool kernel_allows(const Program& program, std::size_t s, SlotId contents, SlotId input) {
  const auto& step = std::get<LaunchStep>(program.steps[s]);
  const Kernel& kernel = program.kernels[step.kernel];
  const auto at = [&](SlotId id) {
    const auto found = std::find(step.buffers.begin(), step.buffers.end(), id);
    return BufferId{static_cast<std::uint32_t>(found - step.buffers.begin())};
  };
  std::size_t reads = 0;
  for (const SlotId id : step.buffers) reads += root_of(program, id) == input ? 1 : 0;
  if (reads == 0) return true;
  return reads == 1 && std::count(step.buffers.begin(), step.buffers.end(), input) == 1 &&
         kernel.buffers[at(input)].kind == Buffer::Kind::kInput &&
         may_share_memory(kernel, at(input), at(contents));
}

bool same_layout(const ir::TensorType& a, const ir::TensorType& b) {
  return a.dtype == b.dtype && a.device == b.device && a.sizes == b.sizes && a.strides == b.strides;
}

}  // namespace

void write_inputs_directly(Program& program, const std::vector<std::uint32_t>& last_uses) {
  program.direct_mutations.assign(program.mutations.size(), false);
  const std::optional<std::size_t> safe = first_safe_step(program);
  for (std::size_t k = 0; safe && k < program.mutations.size(); ++k) {
    const ir::Mutation& mutation = program.mutations[k];
    const SlotId input{mutation.input};
    const bool only = std::count_if(program.mutations.begin(), program.mutations.end(),
                                    [&](const auto& m) { return m.input == mutation.input; }) == 1;
    if (!only || !mutation.value.valid()) continue;
    const SlotId contents{mutation.value.value};
    Slot& slot = program.slots[contents];
    if (slot.storage != Slot::Storage::kArena ||
        program.slots[input].storage != Slot::Storage::kInput ||
        !same_layout(slot.type, program.slots[input].type))
      continue;
    const auto maker = maker_of(program, contents);
    if (!maker || *maker < *safe || last_uses[input.value] > *maker ||
        !written_once(program, contents, *maker) ||
        !kernel_allows(program, *maker, contents, input))
      continue;
    slot.storage = Slot::Storage::kView;
    slot.base = input;
    slot.type.storage_offset = program.slots[input].type.storage_offset;
    program.direct_mutations[k] = true;
  }
}

}  // namespace triptych::plan
