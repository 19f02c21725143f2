// Equality of programs, and their verifier.
#include <algorithm>

#include "codegen/loops/kernel_equal.h"
#include "codegen/plan/program_text.h"

namespace triptych::plan {
namespace {

bool same(const Slot& a, const Slot& b) {
  return a.storage == b.storage && a.type == b.type && a.arena_offset == b.arena_offset &&
         a.bytes == b.bytes && a.base == b.base && a.index == b.index && a.scalar == b.scalar &&
         a.name == b.name;
}

bool same(const LaunchStep& a, const LaunchStep& b) {
  return a.kernel == b.kernel && a.buffers == b.buffers && a.symbols == b.symbols;
}
bool same(const ExternalStep& a, const ExternalStep& b) {
  return a.target == b.target && a.args == b.args && a.results == b.results &&
         a.out_variant == b.out_variant && (!a.out_variant || a.out_target == b.out_target);
}
bool same(const FreeStep& a, const FreeStep& b) { return a.slots == b.slots; }
bool same(const Step& a, const Step& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); },
                    a);
}

bool same(const Program::SymbolSource& a, const Program::SymbolSource& b) {
  return a.symbol == b.symbol && a.input == b.input && a.dim == b.dim && a.kind == b.kind;
}
bool same(const ir::Input& a, const ir::Input& b) {
  return a.kind == b.kind && a.value == b.value && a.name == b.name;
}
bool same(const ir::Constant& a, const ir::Constant& b) {
  const bool bytes =
      a.bytes == b.bytes || (a.bytes != nullptr && b.bytes != nullptr && *a.bytes == *b.bytes);
  return a.value == b.value && a.name == b.name && bytes;
}
bool same(const loops::Kernel& a, const loops::Kernel& b) { return loops::equal(a, b); }

template <class Items>
bool same_items(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), ready_(program.slots.size()) {}

  std::vector<Error> run() {
    for (const loops::Kernel& kernel : program_.kernels) {
      for (Error& error : loops::verify_kernel(kernel)) errors_.push_back(std::move(error));
    }
    for (std::uint32_t i = 0; i < program_.slots.size(); ++i) {
      const Slot::Storage storage = program_.slots[SlotId{i}].storage;
      ready_[i] = storage == Slot::Storage::kInput || storage == Slot::Storage::kConstant ||
                  storage == Slot::Storage::kScalar;
    }
    for (const Step& step : program_.steps) {
      std::visit([this](const auto& it) { check(it); }, step);
    }
    for (const ir::Mutation& mutation : program_.mutations) {
      if (mutation.value.valid()) read(SlotId{mutation.value.value}, "a mutation");
    }
    for (const ir::Output& output : program_.outputs) {
      if (output.kind == ir::Output::Kind::kFresh) read(SlotId{output.value.value}, "an output");
    }
    return std::move(errors_);
  }

 private:
  void report(const std::string& message) {
    errors_.push_back(internal_error("program.verify", message));
  }

  SlotId root(SlotId id) const {
    while (program_.slots[id].storage == Slot::Storage::kView) id = program_.slots[id].base;
    return id;
  }

  void read(SlotId id, const std::string& reader) {
    if (!ready_[root(id).value])
      report(reader + " reads %" + program_.slots[id].name + ", which holds nothing there");
  }

  void check(const LaunchStep& step) {
    const loops::Kernel& kernel = program_.kernels.at(step.kernel);
    if (step.symbols.size() != kernel.symbols.size())
      report(kernel.name + ": found " + std::to_string(step.symbols.size()) +
             " symbols, expected " + std::to_string(kernel.symbols.size()));
    std::size_t i = 0;
    for (const loops::Buffer& buffer : kernel.buffers) {
      if (buffer.kind == loops::Buffer::Kind::kLocal) continue;
      if (i == step.buffers.size()) break;
      const SlotId id = step.buffers[i++];
      if (program_.slots[id].type.dtype != buffer.dtype)
        report(kernel.name + ": %" + program_.slots[id].name + " has not the dtype of %" +
               buffer.name);
      if (buffer.kind == loops::Buffer::Kind::kInput || buffer.kind == loops::Buffer::Kind::kInOut)
        read(id, kernel.name);
    }
    if (i != step.buffers.size()) report(kernel.name + " has not one slot for each buffer");
    for (const SlotId id : step.buffers) ready_[root(id).value] = true;
  }

  void check(const ExternalStep& step) {
    const auto visit = [&](ir::ValueId id) { read(SlotId{id.value}, step.target->name); };
    for (const ir::Argument& argument : step.args) for_each_value(argument, visit);
    for (const SlotId id : step.results) ready_[root(id).value] = true;
  }

  void check(const FreeStep& step) {
    for (const SlotId id : step.slots) {
      read(id, "free");
      ready_[root(id).value] = false;
    }
  }

  const Program& program_;
  std::vector<bool> ready_;  // per slot: holds a value where the walk stands
  std::vector<Error> errors_;
};

}  // namespace

bool equal(const Program& a, const Program& b) {
  return a.symbols == b.symbols && a.guards == b.guards && a.outputs == b.outputs &&
         a.copied_outputs == b.copied_outputs && a.mutations == b.mutations &&
         a.direct_mutations == b.direct_mutations && a.arena_bytes == b.arena_bytes &&
         a.bytes_without_reuse == b.bytes_without_reuse &&
         same_items(a.symbol_sources, b.symbol_sources) && same_items(a.inputs, b.inputs) &&
         same_items(a.slots, b.slots) && same_items(a.kernels, b.kernels) &&
         same_items(a.steps, b.steps) && same_items(a.constants, b.constants);
}

std::vector<Error> verify(const Program& program) { return Verifier(program).run(); }

}  // namespace triptych::plan
