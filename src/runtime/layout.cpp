#include "runtime/layout.h"

#include <algorithm>

#include "codegen/mapping/launch_info.h"
#include "runtime/constants.h"
#include "runtime/errors.h"
#include "runtime/external_op.h"
#include "runtime/output_view.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {

using ir::SymExpr;
using plan::Slot;
using Storage = Slot::Storage;

namespace {

std::vector<ir::Symbol> symbols_of(const plan::Program& program) {
  std::vector<ir::Symbol> symbols;
  for (const auto& source : program.symbol_sources) symbols.push_back(source.symbol);
  return symbols;
}

// Dense strided tensors of the device without any mode or subclass.
std::uint64_t plain_keys(c10::Device device) {
  const c10::DispatchKeySet keys =
      c10::DispatchKeySet(c10::computeDispatchKey(at::kFloat, at::kStrided, device)) |
      c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView) | c10::autograd_dispatch_keyset |
      c10::autocast_dispatch_keyset;
  return keys.raw_repr();
}

class Builder {
 public:
  explicit Builder(Layout& layout) : out_(layout), program_(layout.program) {}

  void run() {
    for (const ir::Constant& constant : program_.constants) {
      out_.constants.push_back(
          constant_tensor(constant, program_.slots[plan::SlotId{constant.value.value}].type));
    }
    for (const Slot& slot : program_.slots) add(slot);
    for (const plan::Step& step : program_.steps) {
      std::visit([this](const auto& it) { add(it); }, step);
    }
    for (const ir::SymGuard& guard : program_.guards) {
      out_.guards.push_back({guard.kind, place(guard.left), place(guard.right)});
    }
    add_signature();
    out_.arena_bytes = place(program_.arena_bytes);
    find_views();
  }

 private:
  Place place(const SymExpr& expr) { return out_.integers.add(expr); }
  std::vector<Place> places(const std::vector<SymExpr>& exprs) {
    std::vector<Place> result;
    for (const SymExpr& expr : exprs) result.push_back(place(expr));
    return result;
  }

  void add(const Slot& slot);
  void add(const plan::LaunchStep& step);
  void add(const plan::ExternalStep& step);
  void add(const plan::FreeStep& step);
  void add_signature();
  void find_views();
  void add_formulas(const ir::Argument& argument);
  std::vector<SlotIndex> first_writes(const std::vector<plan::SlotId>& slots);

  Layout& out_;
  const plan::Program& program_;
  std::vector<bool> allocated_;
};

void Builder::add(const Slot& slot) {
  SlotLayout layout;
  layout.storage = slot.storage;
  layout.root = static_cast<SlotIndex>(out_.slots.size());
  if (slot.storage == Storage::kScalar) {
    layout.is_tensor = false;
    layout.scalar = place(slot.scalar);
    out_.slots.push_back(std::move(layout));
    return;
  }
  layout.dtype = to_torch(slot.type.dtype);
  layout.device = to_torch(slot.type.device);
  layout.allowed_keys = plain_keys(layout.device);
  layout.item_bytes = ir::dtype_bytes(slot.type.dtype);
  layout.sizes = places(slot.type.sizes);
  layout.strides = places(slot.type.strides);
  layout.bytes = place(slot.bytes);
  layout.arena_offset = place(slot.arena_offset);
  layout.distance = place(0);
  if (slot.storage == Storage::kArena) out_.device = layout.device;
  if (slot.storage == Storage::kView) {
    layout.root = out_.slots[slot.base.value].root;
    const ir::TensorType& root = program_.slots[plan::SlotId{layout.root}].type;
    layout.distance = place(slot.type.storage_offset * SymExpr(layout.item_bytes) -
                            root.storage_offset * SymExpr(ir::dtype_bytes(root.dtype)));
  }
  const Storage root =
      layout.root < out_.slots.size() ? out_.slots[layout.root].storage : slot.storage;
  layout.per_call =
      root == Storage::kInput || root == Storage::kOutput || root == Storage::kExternal;
  out_.slots.push_back(std::move(layout));
}

// Outputs whose memory must exist before this step.
std::vector<SlotIndex> Builder::first_writes(const std::vector<plan::SlotId>& slots) {
  allocated_.resize(program_.slots.size());
  std::vector<SlotIndex> found;
  for (const plan::SlotId id : slots) {
    const SlotIndex root = out_.slots[id.value].root;
    if (out_.slots[root].storage != Storage::kOutput || allocated_[root]) continue;
    allocated_[root] = true;
    found.push_back(root);
  }
  return found;
}

void Builder::add(const plan::LaunchStep& step) {
  const loops::Kernel& kernel = program_.kernels[step.kernel];
  // The kernel's own symbols have other names in another launch of the same kernel.
  const auto rename = [&](ir::Symbol symbol) -> std::optional<SymExpr> {
    for (std::size_t i = 0; i < kernel.symbols.size(); ++i) {
      if (kernel.symbols[i] == symbol) return step.symbols[i];
    }
    return std::nullopt;
  };
  LaunchLayout layout;
  layout.kernel = step.kernel;
  for (const plan::SlotId id : step.buffers) layout.buffers.push_back(id.value);
  layout.allocate = first_writes(step.buffers);
  layout.symbols = places(step.symbols);
  const mapping::LaunchInfo info = mapping::launch_info(kernel);
  layout.extent = place(info.parallel_extent.substitute(rename));
  layout.scratch = place(info.scratch_bytes.substitute(rename));
  // An inner loop's extent may depend on an outer loop's variable; any value of it does for an
  // estimate.
  layout.picoseconds = place(info.iteration_cost_ps.substitute(
      [&](ir::Symbol symbol) { return rename(symbol).value_or(SymExpr(1)); }));
  layout.chunk_multiple = info.chunk_multiple;
  out_.steps.emplace_back(std::move(layout));
}

void Builder::add_formulas(const ir::Argument& argument) {
  if (const auto* expr = argument.get_if<SymExpr>()) place(*expr);
  if (const auto* list = argument.get_if<ir::ArgumentList>()) {
    for (const ir::Argument& item : list->items) add_formulas(item);
  }
}

void Builder::add(const plan::ExternalStep& step) {
  const ir::Target& target = *(step.out_variant ? step.out_target : step.target);
  ExternalLayout layout{&step, find_operator(target)};
  out_.has_external_calls = true;
  layout.name = target.name;
  layout.out_variant = step.out_variant;
  for (std::uint32_t a = 0; a < step.args.size(); ++a) {
    const auto tensor = [&](const ir::Argument& argument, int item) {
      const auto* id = argument.get_if<ir::ValueId>();
      if (id == nullptr || !out_.slots[id->value].is_tensor) return;
      layout.tensors.push_back({a, item, id->value});
    };
    add_formulas(step.args[a]);
    if (const auto* list = step.args[a].get_if<ir::ArgumentList>()) {
      for (std::size_t i = 0; i < list->items.size(); ++i)
        tensor(list->items[i], static_cast<int>(i));
    } else {
      tensor(step.args[a], -1);
    }
  }
  for (const plan::SlotId id : step.results) layout.results.push_back(id.value);
  if (step.out_variant) {
    layout.allocate = first_writes(step.results);
    auto argument = static_cast<std::uint32_t>(step.args.size());
    for (const SlotIndex result : layout.results)
      layout.tensors.push_back({argument++, -1, result});
    layout.typed = find_typed_call(target, step.args);
  }
  for (const auto& tensor : layout.tensors) out_.slots[tensor.slot].as_tensor = true;
  out_.steps.emplace_back(std::move(layout));
}

void Builder::add(const plan::FreeStep& step) {
  FreeLayout layout;
  for (const plan::SlotId id : step.slots) layout.slots.push_back(id.value);
  out_.steps.emplace_back(std::move(layout));
}

void Builder::add_signature() {
  using Kind = ir::Output::Kind;
  const OutputTypes types{
      [this](std::uint32_t i) -> const auto& { return program_.slots[plan::SlotId{i}].type; },
      [this](ir::ValueId id) -> const auto& {
        return program_.slots[plan::SlotId{id.value}].type;
      }};
  for (const ir::Output& output : program_.outputs) {
    Layout::View view;
    Place literal = 0;
    if (output.kind == Kind::kFresh) {
      out_.slots[output.value.value].as_tensor = true;
    } else if (output.kind == Kind::kViewOfInput || output.kind == Kind::kViewOfOutput) {
      const OutputView found = output_view(program_.outputs, output, types);
      view = {places(output.view.sizes), places(output.view.strides), place(found.distance),
              found.other_dtype};
    } else if (const auto* expr = output.literal.get_if<SymExpr>()) {
      literal = place(*expr);
    } else if (const auto* value = output.literal.get_if<ir::ValueId>()) {
      literal = out_.slots[value->value].scalar;
    }
    out_.output_views.push_back(std::move(view));
    out_.literals.push_back(literal);
    out_.has_literals = out_.has_literals || output.kind == Kind::kLiteral;
  }
  for (const ir::Mutation& mutation : program_.mutations) {
    Layout::View view;
    if (mutation.kind == ir::Mutation::Kind::kData) {
      out_.slots[mutation.value.value].as_tensor = true;
    } else {
      view = {places(mutation.metadata.sizes), places(mutation.metadata.strides),
              place(mutation.metadata.storage_offset), std::nullopt};
    }
    out_.metadata.push_back(std::move(view));
    out_.mutated_inputs.push_back(mutation.input);
  }
}

void Builder::find_views() {
  for (SlotIndex i = 0; i < out_.slots.size(); ++i) {
    const SlotLayout& slot = out_.slots[i];
    if (slot.per_call) out_.per_call.push_back(i);
    if (slot.storage == Storage::kView && slot.per_call) out_.slots[slot.root].views.push_back(i);
  }
}

}  // namespace

Layout::Layout(plan::Program given, std::vector<CompiledKernel> compiled)
    : program(std::move(given)), kernels(std::move(compiled)), integers(symbols_of(program)) {
  if (kernels.size() != program.kernels.size()) {
    fail(internal_error("runtime.kernel_count", "found " + std::to_string(kernels.size()) +
                                                    " compiled kernels, expected " +
                                                    std::to_string(program.kernels.size())));
  }
  Builder(*this).run();
}

}  // namespace triptych::runtime
