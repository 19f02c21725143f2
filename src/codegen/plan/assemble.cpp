#include "codegen/plan/assemble.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/plan/direct_writes.h"
#include "codegen/plan/in_place.h"
#include "codegen/plan/memory_plan.h"
#include "codegen/plan/storage_extent.h"

namespace triptych::plan {

using ir::ValueId;
using loops::KernelItem;
using Storage = Slot::Storage;

namespace {

class Assembler {
 public:
  Assembler(const loops::LoopProgram& loops, const AssembleOptions& options)
      : loops_(loops), graph_(loops.graph), options_(options), slot_of_(graph_.num_values()) {}

  Result<Program> run() {
    add_signature();
    for (const loops::Item& item : loops_.items) {
      TRIPTYCH_TRY([[maybe_unused]] Unit added,
                   std::visit([&](const auto& it) { return add(it); }, item));
    }
    TRIPTYCH_TRY([[maybe_unused]] Unit bound, bind_outputs());
    program_.direct_mutations.assign(program_.mutations.size(), false);
    if (options_.reuse_memory) {
      write_inputs_directly(program_, last_uses());
      share_in_place();
    }
    place_in_arena();
    free_external_results();
    return std::move(program_);
  }

 private:
  void add_signature();
  Status add(const KernelItem& item);
  Status add(const loops::ExternalItem& item);
  Status add(const loops::ViewItem& item);
  Status bind_outputs();
  void find_symbol_sources();
  void share_in_place();
  void place_in_arena();
  void free_external_results();
  std::vector<std::uint32_t> last_uses() const;

  SlotId add_slot(ValueId value, Storage storage);
  Result<SlotId> slot(ValueId value) const;
  SlotId root(SlotId id) const {
    while (program_.slots[id].storage == Storage::kView) id = program_.slots[id].base;
    return id;
  }
  std::uint32_t intern_kernel(const loops::Kernel& kernel);

  const loops::LoopProgram& loops_;
  const ir::Graph& graph_;
  const AssembleOptions& options_;
  std::vector<SlotId> slot_of_;                     // per value; invalid: not computed
  std::map<std::string, std::uint32_t> kernel_of_;  // by structural key
  std::map<SlotId, SlotId> shares_;  // arena slot -> the slot whose block it lives in
  Program program_;
};

SlotId Assembler::add_slot(ValueId value, Storage storage) {
  Slot slot;
  slot.storage = storage;
  slot.name = graph_.value(value).name;
  const ir::ValueType& type = graph_.value(value).type;
  if (const auto* tensor = std::get_if<ir::TensorType>(&type)) {
    slot.type = *tensor;
    slot.bytes = extent_in_bytes(*tensor);
  } else if (const auto* scalar = std::get_if<ir::ScalarValueType>(&type);
             scalar != nullptr && scalar->expr) {
    slot.storage = Storage::kScalar;
    slot.scalar = *scalar->expr;
  }
  const SlotId id = program_.slots.push_back(std::move(slot));
  slot_of_[value.value] = id;
  return id;
}

Result<SlotId> Assembler::slot(ValueId value) const {
  const SlotId id = slot_of_[value.value];
  if (!id.valid()) {
    return internal_error("plan.undefined_value",
                          "%" + graph_.value(value).name + " is read before it is computed");
  }
  return id;
}

void Assembler::add_signature() {
  program_.symbols = graph_.symbols();
  program_.inputs = graph_.inputs();
  program_.guards = graph_.guards();
  program_.constants = graph_.constants();
  for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i) {
    const SlotId id = add_slot(graph_.inputs()[i].value, Storage::kInput);
    program_.slots[id].index = i;
    program_.inputs[i].value = ValueId{id.value};
  }
  for (std::uint32_t i = 0; i < graph_.constants().size(); ++i) {
    const SlotId id = add_slot(graph_.constants()[i].value, Storage::kConstant);
    program_.slots[id].index = i;
    program_.constants[i].value = ValueId{id.value};
  }
  // Symbolic integers are formulas over the symbols: nobody computes them in steps.
  for (std::uint32_t i = 0; i < graph_.num_values(); ++i) {
    const auto* scalar = std::get_if<ir::ScalarValueType>(&graph_.value(ValueId{i}).type);
    if (scalar != nullptr && scalar->expr && !slot_of_[i].valid()) {
      add_slot(ValueId{i}, Storage::kScalar);
    }
  }
  find_symbol_sources();
}

// A symbol is read where an input shows it bare; sizes before strides and offsets, first input
// first.
void Assembler::find_symbol_sources() {
  using Source = Program::SymbolSource;
  std::set<Symbol> known;
  const auto offer = [&](const SymExpr& expr, std::uint32_t input, int dim, Source::Kind kind) {
    if (!expr.is_symbol() || !known.insert(expr.as_symbol()).second) return;
    program_.symbol_sources.push_back({expr.as_symbol(), input, dim, kind});
  };
  for (std::uint32_t i = 0; i < program_.inputs.size(); ++i) {
    const Slot& slot = program_.slots[SlotId{i}];
    if (slot.storage == Storage::kScalar) {
      offer(slot.scalar, i, -1, Source::Kind::kScalar);
      continue;
    }
    for (std::size_t d = 0; d < slot.type.sizes.size(); ++d) {
      offer(slot.type.sizes[d], i, static_cast<int>(d), Source::Kind::kSize);
    }
  }
  for (std::uint32_t i = 0; i < program_.inputs.size(); ++i) {
    const Slot& slot = program_.slots[SlotId{i}];
    if (slot.storage == Storage::kScalar) continue;
    for (std::size_t d = 0; d < slot.type.strides.size(); ++d) {
      offer(slot.type.strides[d], i, static_cast<int>(d), Source::Kind::kStride);
    }
    offer(slot.type.storage_offset, i, -1, Source::Kind::kOffset);
  }
}

std::uint32_t Assembler::intern_kernel(const loops::Kernel& kernel) {
  const auto index = static_cast<std::uint32_t>(program_.kernels.size());
  const auto [found, added] = kernel_of_.emplace(structural_key(kernel), index);
  if (added) program_.kernels.push_back(kernel);
  return found->second;
}

Status Assembler::add(const KernelItem& item) {
  LaunchStep step;
  step.kernel = intern_kernel(item.kernel);
  std::size_t i = 0;
  for (const loops::Buffer& buffer : item.kernel.buffers) {
    if (buffer.kind == loops::Buffer::Kind::kLocal) continue;
    if (i == item.buffers.size()) {
      return internal_error("plan.kernel_buffers", item.kernel.name + " has " +
                                                       std::to_string(item.buffers.size()) +
                                                       " bound buffers, too few");
    }
    const ValueId value = item.buffers[i++];
    const bool fresh = (buffer.kind == loops::Buffer::Kind::kOutput ||
                        buffer.kind == loops::Buffer::Kind::kWorkspace) &&
                       !slot_of_[value.value].valid();
    if (fresh) add_slot(value, Storage::kArena);
    TRIPTYCH_TRY(const SlotId id, slot(value));
    step.buffers.push_back(id);
  }
  for (const Symbol symbol : item.kernel.symbols) step.symbols.push_back(SymExpr::symbol(symbol));
  program_.steps.emplace_back(std::move(step));
  return Unit{};
}

// Picks the functional form's arguments that the out form takes, by name. False when one is
// missing.
bool to_out_arguments(const ir::Target& out, const ir::Node& node,
                      std::vector<ir::Argument>& args) {
  if (out.schema == nullptr || node.target->schema == nullptr) return false;
  std::vector<ir::Argument> picked;
  for (const ir::SchemaArgument& argument : out.schema->arguments) {
    if (argument.written()) continue;
    const auto found = node.target->schema->find(argument.name);
    if (!found || *found >= node.args.size()) return false;
    picked.push_back(node.args[*found]);
  }
  args = std::move(picked);
  return true;
}

Status Assembler::add(const loops::ExternalItem& item) {
  const ir::Node& node = graph_.node(item.node);
  ExternalStep step;
  step.target = node.target;
  std::vector<ir::Argument> args = node.args;
  if (options_.out_target && node.results.size() == 1) {
    step.out_target = options_.out_target(*node.target);
    step.out_variant = step.out_target != nullptr && to_out_arguments(*step.out_target, node, args);
  }
  Status status = Unit{};
  for (const ir::Argument& argument : args) {
    step.args.push_back(ir::map_values(argument, [&](ValueId value) {
      const Result<SlotId> id = slot(value);
      if (!id.ok()) status = id.error();
      return ValueId{id.ok() ? id.value().value : 0};
    }));
  }
  if (!status.ok()) return status;
  for (const ValueId value : node.results) {
    if (slot_of_[value.value].valid()) continue;  // a symbolic integer
    const ir::ValueType& type = graph_.value(value).type;
    if (!std::holds_alternative<ir::TensorType>(type) &&
        !std::holds_alternative<ir::NoneType>(type)) {
      return unsupported("plan.data_dependent_number",
                         node.target->name + " gives a number that depends on data",
                         node.location.str());
    }
    step.results.push_back(
        add_slot(value, step.out_variant ? Storage::kArena : Storage::kExternal));
  }
  program_.steps.emplace_back(std::move(step));
  return Unit{};
}

Status Assembler::add(const loops::ViewItem& item) {
  TRIPTYCH_TRY(const SlotId base, slot(item.base));
  const SlotId id = add_slot(item.value, Storage::kView);
  program_.slots[id].base = base;
  return Unit{};
}

// A fresh output owns its memory: the slot that holds it is allocated apart. When that is somebody
// else's memory (an input, a constant, an earlier output) the runtime returns a copy.
Status Assembler::bind_outputs() {
  std::set<SlotId> taken;
  for (const ir::Output& output : graph_.outputs()) {
    ir::Output bound = output;
    bool copied = false;
    if (output.kind == ir::Output::Kind::kFresh) {
      TRIPTYCH_TRY(const SlotId id, slot(output.value));
      bound.value = ValueId{id.value};
      Slot& holder = program_.slots[root(id)];
      copied = holder.storage == Storage::kInput || holder.storage == Storage::kConstant ||
               !taken.insert(root(id)).second;
      if (holder.storage == Storage::kArena) holder.storage = Storage::kOutput;
    } else {
      bound.value = ValueId{};
      bound.literal = ir::map_values(
          output.literal, [&](ValueId value) { return ValueId{slot_of_[value.value].value}; });
    }
    program_.outputs.push_back(std::move(bound));
    program_.copied_outputs.push_back(copied);
  }
  for (ir::Mutation mutation : graph_.mutations()) {
    if (mutation.value.valid()) {
      TRIPTYCH_TRY(const SlotId id, slot(mutation.value));
      mutation.value = ValueId{id.value};
    }
    program_.mutations.push_back(std::move(mutation));
  }
  return Unit{};
}

// Per slot, the last step that reads it or a view of it; the number of steps when the end of the
// call does.
std::vector<std::uint32_t> Assembler::last_uses() const {
  std::vector<std::uint32_t> last(program_.slots.size(), 0);
  const auto use = [&](SlotId id, std::uint32_t step) {
    std::uint32_t& mine = last[root(id).value];
    mine = std::max(mine, step);
  };
  for (std::uint32_t s = 0; s < program_.steps.size(); ++s) {
    if (const auto* launch = std::get_if<LaunchStep>(&program_.steps[s])) {
      for (const SlotId id : launch->buffers) use(id, s);
    } else if (const auto* external = std::get_if<ExternalStep>(&program_.steps[s])) {
      for (const ir::Argument& argument : external->args) {
        for_each_value(argument, [&](ValueId value) { use(SlotId{value.value}, s); });
      }
      for (const SlotId id : external->results) use(id, s);
    }
  }
  const auto end = static_cast<std::uint32_t>(program_.steps.size());
  for (const ir::Output& output : program_.outputs) {
    if (output.kind == ir::Output::Kind::kFresh) use(SlotId{output.value.value}, end);
  }
  for (const ir::Mutation& mutation : program_.mutations) {
    if (mutation.value.valid()) use(SlotId{mutation.value.value}, end);
  }
  return last;
}

// Lets a kernel write where it reads for the last time.
void Assembler::share_in_place() {
  const std::vector<std::uint32_t> last = last_uses();
  std::set<SlotId> given;
  for (std::uint32_t s = 0; s < program_.steps.size(); ++s) {
    const auto* step = std::get_if<LaunchStep>(&program_.steps[s]);
    if (step == nullptr) continue;
    const loops::Kernel& kernel = program_.kernels[step->kernel];
    const auto kind = [&](std::size_t i) {
      return kernel.buffers[loops::BufferId{static_cast<std::uint32_t>(i)}].kind;
    };
    for (std::size_t w = 0; w < step->buffers.size(); ++w) {
      const SlotId written = step->buffers[w];
      if (kind(w) != loops::Buffer::Kind::kOutput ||
          program_.slots[written].storage != Storage::kArena) {
        continue;
      }
      for (std::size_t r = 0; r < step->buffers.size(); ++r) {
        const SlotId read = step->buffers[r];
        const auto same_memory = [&](SlotId id) { return root(id) == read; };
        if (kind(r) != loops::Buffer::Kind::kInput || last[read.value] != s ||
            given.contains(read) || program_.slots[read].storage != Storage::kArena ||
            !(program_.slots[read].bytes == program_.slots[written].bytes) ||
            std::count_if(step->buffers.begin(), step->buffers.end(), same_memory) != 1 ||
            !may_share_memory(kernel, loops::BufferId{static_cast<std::uint32_t>(r)},
                              loops::BufferId{static_cast<std::uint32_t>(w)})) {
          continue;
        }
        shares_[written] = read;
        given.insert(read);
        break;
      }
    }
  }
}

void Assembler::place_in_arena() {
  const std::vector<std::uint32_t> last = last_uses();
  std::vector<Block> blocks;
  std::map<SlotId, std::uint32_t> block_of;
  const auto define = [&](SlotId id, std::uint32_t step) {
    const Slot& slot = program_.slots[id];
    if (slot.storage != Storage::kArena || block_of.contains(id)) return;
    const auto shared = shares_.find(id);
    if (shared != shares_.end()) {
      const std::uint32_t block = block_of.at(shared->second);
      blocks[block].last = std::max(blocks[block].last, last[id.value]);
      block_of[id] = block;
      return;
    }
    block_of[id] = static_cast<std::uint32_t>(blocks.size());
    blocks.push_back({slot.bytes, at_hints(slot.bytes, program_.symbols), step, last[id.value]});
  };
  for (std::uint32_t s = 0; s < program_.steps.size(); ++s) {
    if (const auto* launch = std::get_if<LaunchStep>(&program_.steps[s])) {
      for (const SlotId id : launch->buffers) define(id, s);
    } else if (const auto* external = std::get_if<ExternalStep>(&program_.steps[s])) {
      for (const SlotId id : external->results) define(id, s);
    }
  }
  const MemoryPlan plan = plan_memory(blocks, options_.reuse_memory);
  for (const auto& [id, block] : block_of) program_.slots[id].arena_offset = plan.offsets[block];
  program_.arena_bytes = plan.arena_bytes;
  program_.bytes_without_reuse = plan.bytes_without_reuse;
}

// External results are the op's own memory: dropped behind their last use.
void Assembler::free_external_results() {
  const std::vector<std::uint32_t> last = last_uses();
  std::vector<std::vector<SlotId>> dying(program_.steps.size());
  for (std::uint32_t i = 0; i < program_.slots.size(); ++i) {
    const SlotId id{i};
    if (program_.slots[id].storage == Storage::kExternal && last[i] < dying.size()) {
      dying[last[i]].push_back(id);
    }
  }
  std::vector<Step> steps;
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    steps.push_back(std::move(program_.steps[s]));
    if (!dying[s].empty()) steps.emplace_back(FreeStep{dying[s]});
  }
  program_.steps = std::move(steps);
}

}  // namespace

Result<Program> assemble(const loops::LoopProgram& loops, const AssembleOptions& options) {
  return Assembler(loops, options).run();
}

}  // namespace triptych::plan
