#include "codegen/plan/memory_report.h"

#include <algorithm>
#include <optional>

namespace triptych::plan {

using Storage = Slot::Storage;

namespace {

struct Lifetime {
  std::optional<std::size_t> first;
  std::size_t last = 0;
};

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> result(program.slots.size());
  const auto use = [&](SlotId id, std::size_t step) {
    while (program.slots[id].storage == Storage::kView) id = program.slots[id].base;
    Lifetime& life = result[id.value];
    if (!life.first) life.first = step;
    life.last = step;
  };
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (const auto* launch = std::get_if<LaunchStep>(&program.steps[s])) {
      for (const SlotId id : launch->buffers) use(id, s);
    } else if (const auto* external = std::get_if<ExternalStep>(&program.steps[s])) {
      for (const ir::Argument& argument : external->args) {
        for_each_value(argument, [&](ir::ValueId value) { use(SlotId{value.value}, s); });
      }
      for (const SlotId id : external->results) use(id, s);
    }
  }
  for (const ir::Mutation& mutation : program.mutations) {
    if (mutation.value.valid()) use(SlotId{mutation.value.value}, program.steps.size());
  }
  return result;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

}  // namespace

std::string memory_report(const Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::string text = "      offset        bytes    steps  value\n";
  for (std::uint32_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[SlotId{i}];
    const bool apart = slot.storage == Storage::kOutput || slot.storage == Storage::kExternal;
    if (slot.storage != Storage::kArena && !apart) continue;
    const Lifetime& life = lives[i];
    const std::string where = slot.storage == Storage::kArena    ? slot.arena_offset.str()
                              : slot.storage == Storage::kOutput ? "output"
                                                                 : "external";
    const std::string steps =
        life.first ? std::to_string(*life.first) + "-" + std::to_string(life.last) : "-";
    text += padded(where, 12) + " " + padded(slot.bytes.str(), 12) + " " + padded(steps, 8) +
            "  %" + slot.name + "\n";
  }
  return text + "arena: " + program.arena_bytes.str() + " bytes (" +
         program.bytes_without_reuse.str() + " without reuse)\n";
}

}  // namespace triptych::plan
