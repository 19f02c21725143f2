#include "runtime/executable.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include "runtime/errors.h"
#include "runtime/external_op.h"
#include "runtime/graph_runner.h"
#include "runtime/list_text.h"
#include "runtime/output_view.h"

namespace triptych::runtime {

using Storage = plan::Slot::Storage;
using OutputKind = ir::Output::Kind;

namespace {

// From this much work on, other Python threads may run meanwhile.
constexpr double kReleaseNanoseconds = 10000;

class Released {
 public:
  Released(WorkLock lock, bool wanted) : lock_(lock), held_(wanted && lock.release != nullptr) {
    if (held_) state_ = lock_.release();
  }
  ~Released() { acquire(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  void acquire() {
    if (held_) lock_.acquire(state_);
    held_ = false;
  }

 private:
  WorkLock lock_;
  bool held_;
  void* state_ = nullptr;
};

// For a kernel's error word: the general form of what eager raises.
[[noreturn]] void raise_kernel_error(std::int32_t error) {
  switch (static_cast<loops::Check::Code>(error)) {
    case loops::Check::Code::kIndexOutOfRange:
      TORCH_CHECK_INDEX(false, "index out of range in self");
    case loops::Check::Code::kDivisionByZero:
      TORCH_CHECK(false, "ZeroDivisionError");
  }
  fail(internal_error("runtime.error_word", "a kernel reported error " + std::to_string(error)));
}

}  // namespace

// One run over one frame.
class Executable::Call {
 public:
  Call(Executable& owner, Frame& frame, std::span<const InputRef> inputs)
      : owner_(owner), layout_(owner.layout_), frame_(frame), inputs_(inputs) {}

  void run_steps() {
    std::optional<KernelMode> mode;
    if (layout_.has_external_calls) mode.emplace();
    // Asked without the lock that at::hasGlobalCallbacks takes.
    const bool profiled = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
    for (std::size_t s = 0; s < layout_.steps.size(); ++s) {
      const StepLayout& step = layout_.steps[s];
      if (const auto* launch = std::get_if<LaunchLayout>(&step)) {
        profiled ? run_named(layout_.program.kernels[launch->kernel].name, s, *launch)
                 : run(s, *launch);
      } else if (const auto* external = std::get_if<ExternalLayout>(&step)) {
        run(s, *external);
      } else {
        for (const SlotIndex slot : std::get<FreeLayout>(step).slots) frame_.free_external(slot);
      }
    }
  }

  // Values are immutable: an output or a new content that is the memory of an input which gets a
  // new content itself is copied before that happens.
  void mutate_inputs(std::vector<at::Tensor>& outputs) {
    if (layout_.program.mutations.empty()) return;
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      if (layout_.program.copied_outputs[i]) make_output(i, outputs);
    }
    const at::NoGradGuard no_grad;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    std::vector<at::Tensor> contents;
    for (const ir::Mutation& mutation : layout_.program.mutations) {
      const bool data = mutation.kind == ir::Mutation::Kind::kData;
      const bool copied = data && !layout_.program.direct_mutations[contents.size()];
      contents.push_back(copied ? frame_.tensor(mutation.value.value) : at::Tensor());
      if (copied && shows_input(mutation.value.value)) contents.back() = contents.back().clone();
    }
    for (std::size_t i = 0; i < layout_.program.mutations.size(); ++i) {
      const ir::Mutation& mutation = layout_.program.mutations[i];
      const at::Tensor& input = *inputs_[mutation.input].tensor;
      if (layout_.program.direct_mutations[i]) {
        input.unsafeGetTensorImpl()->bump_version();  // as the copy would have
      } else if (mutation.kind == ir::Mutation::Kind::kData) {
        input.copy_(contents[i]);
      } else {
        const Layout::View& view = layout_.metadata[i];
        input.as_strided_(frame_.integers(view.sizes), frame_.integers(view.strides),
                          frame_.integer(view.distance));
      }
    }
  }

  void make_outputs(std::vector<at::Tensor>& outputs) {
    for (std::uint32_t i = 0; i < outputs.size(); ++i) make_output(i, outputs);
  }

  void make_literals(std::vector<std::int64_t>& literals) {
    if (!layout_.has_literals) return;
    for (const Place place : layout_.literals) literals.push_back(frame_.integer(place));
  }

 private:
  void run_named(const std::string& name, std::size_t s, const LaunchLayout& step) {
    at::RecordFunction range(at::RecordScope::FUNCTION);
    if (range.isActive()) range.before(name);
    run(s, step);
  }

  void run(std::size_t s, const LaunchLayout& step) {
    for (const SlotIndex slot : step.allocate) frame_.allocate_output(slot);
    c10::SmallVector<void*, 16> buffers;
    for (const SlotIndex slot : step.buffers) buffers.push_back(frame_.data(slot));
    const CompiledKernel& kernel = layout_.kernels[step.kernel];
    std::int32_t error = 0;
    if (kernel.function == nullptr) {
      kernel.callable->call(buffers.data(), frame_.launch_symbols(s));
      return;
    }
    launch({kernel.function, buffers.data(), frame_.launch_symbols(s), frame_.integer(step.extent),
            step.chunk_multiple, frame_.nanoseconds(step), frame_.integer(step.scratch)},
           &error);
    if (error != 0) explain(error);
  }

  // Mutations come last in a program, so the inputs are still what they were.
  [[noreturn]] void explain(std::int32_t error) {
    if (owner_.options_.graph != nullptr) {
      compute_graph(*owner_.options_.graph, values_of(inputs_));
      fail(internal_error("runtime.false_check", "a kernel reported error " +
                                                     std::to_string(error) +
                                                     " where the ops themselves report none"));
    }
    raise_kernel_error(error);
  }

  void run(std::size_t s, const ExternalLayout& step) {
    for (const SlotIndex slot : step.allocate) frame_.allocate_output(slot);
    if (step.typed != nullptr) {
      c10::SmallVector<const at::Tensor*, 8> tensors;
      for (const auto& tensor : step.tensors) tensors.push_back(&frame_.tensor(tensor.slot));
      step.typed(tensors.data());
      return;
    }
    torch::jit::Stack stack(frame_.stack(s), frame_.stack(s) + frame_.stack_size(s));
    fill_in(step, stack);
    step.op.callBoxed(&stack);
    if (!step.out_variant) keep_results(step, stack);
  }

  // Puts this call's tensors where the prepared arguments have none.
  void fill_in(const ExternalLayout& step, torch::jit::Stack& stack) {
    std::int64_t copied_list = -1;
    for (const auto& argument : step.tensors) {
      const SlotLayout& slot = layout_.slots[argument.slot];
      if (!slot.per_call || slot.storage == Storage::kView) continue;
      c10::IValue& place = stack[argument.argument];
      if (argument.item < 0) {
        place = frame_.tensor(argument.slot);
        continue;
      }
      if (copied_list != argument.argument) place = c10::IValue(place.toList().copy());
      copied_list = argument.argument;
      place.toList().set(static_cast<std::size_t>(argument.item), frame_.tensor(argument.slot));
    }
  }

  void keep_results(const ExternalLayout& step, torch::jit::Stack& stack) {
    std::vector<c10::IValue> results;
    flatten_results(stack, results);
    std::size_t at = 0;
    for (const c10::IValue& result : results) {
      if (!result.isTensor())
        continue;  // integers are formulas, undefined results have no slot to fill
      if (at == step.results.size()) break;
      const SlotIndex slot = step.results[at++];
      frame_.set_external(slot, as_planned(step, slot, result.toTensor()));
    }
    if (at != step.results.size()) {
      fail(internal_error("runtime.results", step.name + ": found " + std::to_string(at) +
                                                 " tensors, expected " +
                                                 std::to_string(step.results.size())));
    }
  }

  // The result with the metadata that the graph promises, in memory that nobody else owns.
  at::Tensor as_planned(const ExternalLayout& step, SlotIndex index, const at::Tensor& result) {
    if (!result.defined()) return result;
    const SlotLayout& slot = layout_.slots[index];
    const std::vector<std::int64_t> sizes = frame_.integers(slot.sizes);
    const std::vector<std::int64_t> strides = frame_.integers(slot.strides);
    if (result.scalar_type() != slot.dtype || result.sizes() != at::IntArrayRef(sizes)) {
      fail(internal_error("runtime.result_type", step.name + ": found " +
                                                     c10::toString(result.scalar_type()) +
                                                     list_text(result.sizes()) + ", expected " +
                                                     c10::toString(slot.dtype) + list_text(sizes)));
    }
    bool same_strides = true;
    for (std::size_t d = 0; d < sizes.size() && result.numel() > 0; ++d) {
      same_strides = same_strides && (sizes[d] == 1 || result.strides()[d] == strides[d]);
    }
    if (!same_strides && owner_.options_.strict) {
      fail(internal_error("runtime.result_strides", step.name + ": found strides " +
                                                        list_text(result.strides()) +
                                                        ", expected " + list_text(strides)));
    }
    if (same_strides && !aliases(step, result)) return result;
    if (!same_strides) ++owner_.restrided_;
    at::Tensor copy =
        empty_output({sizes, strides}, slot.dtype, result.device(), frame_.integer(slot.bytes));
    copy_elements(copy, result);
    return copy;
  }

  // PyTorch refuses to write a tensor whose elements share memory, as `expand` makes them: where
  // the source shares in the same way, the memory behind both is copied.
  static void copy_elements(at::Tensor& to, const at::Tensor& from) {
    bool same_strides = true;
    std::int64_t extent = 1;
    for (std::int64_t d = 0; d < from.dim(); ++d) {
      same_strides = same_strides && (from.size(d) == 1 || to.stride(d) == from.stride(d));
      extent += (from.size(d) - 1) * from.stride(d);
    }
    if (same_strides && at::has_internal_overlap(from) == at::MemOverlap::Yes) {
      to.as_strided({extent}, {1}).copy_(from.as_strided({extent}, {1}));
    } else {
      to.copy_(from);
    }
  }

  // Some ops return an argument itself; its memory is planned, or the user's.
  bool aliases(const ExternalLayout& step, const at::Tensor& result) const {
    if (!result.has_storage()) return false;
    const c10::StorageImpl* storage = result.storage().unsafeGetStorageImpl();
    if (frame_.owns(storage)) return true;
    for (const auto& argument : step.tensors) {
      const at::Tensor& tensor = frame_.tensor(argument.slot);
      if (tensor.defined() && tensor.has_storage() &&
          tensor.storage().unsafeGetStorageImpl() == storage) {
        return true;
      }
    }
    return false;
  }

  bool shows_input(SlotIndex slot) const {
    return layout_.slots[layout_.slots[slot].root].storage == Storage::kInput;
  }

  void make_output(std::uint32_t index, std::vector<at::Tensor>& outputs) {
    const ir::Output& output = layout_.program.outputs[index];
    if (outputs[index].defined()) return;
    switch (output.kind) {
      case OutputKind::kFresh:
        outputs[index] = fresh(index, output);
        break;
      case OutputKind::kViewOfInput:
        outputs[index] =
            view(base_of_view(output, *inputs_[output.index].tensor), layout_.output_views[index]);
        break;
      case OutputKind::kViewOfOutput:
        outputs[index] = view(base(output.index, outputs), layout_.output_views[index]);
        break;
      case OutputKind::kSameAs:
        outputs[index] = base(output.index, outputs);
        break;
      case OutputKind::kInput:
      case OutputKind::kLiteral:
        break;
    }
  }

  at::Tensor base(std::uint32_t index, std::vector<at::Tensor>& outputs) {
    const ir::Output& output = layout_.program.outputs[index];
    if (output.kind == OutputKind::kInput) return *inputs_[output.index].tensor;
    make_output(index, outputs);
    return outputs[index];
  }

  at::Tensor fresh(std::uint32_t index, const ir::Output& output) {
    const SlotIndex slot_index = output.value.value;
    const SlotLayout& slot = layout_.slots[slot_index];
    if (layout_.program.copied_outputs[index]) {
      at::Tensor copy = empty_output({frame_.integers(slot.sizes), frame_.integers(slot.strides)},
                                     slot.dtype, slot.device, frame_.integer(slot.bytes));
      const KernelMode mode;
      copy_elements(copy, frame_.tensor(slot_index));
      return copy;
    }
    if (slot.storage == Storage::kView) return frame_.view_of(frame_.tensor(slot.root), slot);
    // Nobody else looks at it: an output that comes twice is kSameAs.
    if (slot.storage == Storage::kOutput && slot.views.empty()) return frame_.take(slot_index);
    return frame_.tensor(slot_index);
  }

  at::Tensor view(const at::Tensor& base, const Layout::View& view) const {
    return view_of_base(base, view.other_dtype, frame_.integers(view.sizes),
                        frame_.integers(view.strides), frame_.integer(view.distance));
  }

  Executable& owner_;
  const Layout& layout_;
  Frame& frame_;
  std::span<const InputRef> inputs_;
};

class Executable::FrameLease {
 public:
  explicit FrameLease(Executable& owner) : owner_(owner), frame_(owner.take_frame()) {}
  ~FrameLease() {
    frame_->clear();
    owner_.give_frame(std::move(frame_));
  }
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame& operator*() const { return *frame_; }

 private:
  Executable& owner_;
  std::unique_ptr<Frame> frame_;
};

Executable::Executable(plan::Program program, std::vector<CompiledKernel> kernels,
                       ExecutableOptions options)
    : layout_(std::move(program), std::move(kernels)), options_(options) {}

Executable::~Executable() { reset(); }

void Executable::run(std::span<const InputRef> inputs, std::vector<at::Tensor>& outputs,
                     WorkLock lock) {
  std::vector<std::int64_t> literals;
  run(inputs, outputs, literals, lock);
}

void Executable::run(std::span<const InputRef> inputs, std::vector<at::Tensor>& outputs,
                     std::vector<std::int64_t>& literals, WorkLock lock) {
  const FrameLease lease(*this);
  Frame& frame = *lease;
  read_symbols(layout_, inputs, frame.read_symbols());
  if (!layout_.mutated_inputs.empty()) check_written_inputs(layout_, inputs);
  frame.bind(frame.read_symbols());
  check_shapes(layout_, frame, inputs);
  for (SlotIndex i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor != nullptr) frame.set_input(i, *inputs[i].tensor);
  }
  Call call(*this, frame, inputs);
  {
    const Released released(lock, frame.nanoseconds() > kReleaseNanoseconds);
    call.run_steps();
    outputs.assign(layout_.program.outputs.size(), at::Tensor());
    call.mutate_inputs(outputs);
  }
  call.make_outputs(outputs);
  call.make_literals(literals);
}

bool Executable::accepts(std::span<const InputRef> inputs) {
  try {
    std::vector<std::int64_t> symbols;
    read_symbols(layout_, inputs, symbols);
    check_written_inputs(layout_, inputs);
    const FrameLease lease(*this);
    (*lease).bind(symbols);
    check_shapes(layout_, *lease, inputs);
    return true;
  } catch (const ProgramError& error) {
    if (error.error().kind == ErrorKind::kInternal) throw;
    return false;
  }
}

std::unique_ptr<Frame> Executable::take_frame() {
  if (Frame* frame = first_free_.exchange(nullptr)) return std::unique_ptr<Frame>(frame);
  {
    const std::lock_guard guard(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(layout_);
}

void Executable::give_frame(std::unique_ptr<Frame> frame) noexcept {
  Frame* expected = nullptr;
  if (first_free_.compare_exchange_strong(expected, frame.get())) {
    frame.release();
    return;
  }
  const std::lock_guard guard(mutex_);
  free_.push_back(std::move(frame));
}

void Executable::reset() {
  delete first_free_.exchange(nullptr);
  const std::lock_guard guard(mutex_);
  free_.clear();
}

std::int64_t Executable::retained_bytes() const {
  const std::lock_guard guard(mutex_);
  const Frame* first = first_free_.load();
  std::int64_t bytes = first != nullptr ? first->arena_bytes() : 0;
  for (const auto& frame : free_) bytes += frame->arena_bytes();
  return bytes;
}

}  // namespace triptych::runtime
