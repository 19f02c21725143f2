// A program made ready to run, once: every symbolic integer has a place in one SymProgram, every op
// its dispatcher handle, every step the list of what must be filled in per call. Immutable, shared
// by threads.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "codegen/plan/program.h"
#include "codegen/plan/sym_program.h"
#include "runtime/launch.h"
#include "runtime/typed_calls.h"

namespace triptych::runtime {

using Place = std::uint32_t;  // of an integer among SymProgram's results
using SlotIndex = std::uint32_t;

// A kernel that is no C function: how a device from outside runs one.
class KernelCallable {
 public:
  virtual ~KernelCallable() = default;
  virtual void call(void* const* buffers, const std::int64_t* symbols) const = 0;
};

struct CompiledKernel {
  KernelFunction function = nullptr;
  std::shared_ptr<const KernelCallable> callable;  // used when there is no function
};

struct SlotLayout {
  plan::Slot::Storage storage = plan::Slot::Storage::kArena;
  at::ScalarType dtype = at::kFloat;
  c10::Device device{c10::kCPU};
  bool is_tensor = true;           // else an integer, or an undefined tensor
  bool as_tensor = false;          // an external op, an output or a copy reads it as a tensor
  bool per_call = false;           // its memory is found anew in each call
  std::uint64_t allowed_keys = 0;  // dispatch keys of tensors that kernels can read by pointer
  std::int64_t item_bytes = 1;
  std::vector<Place> sizes, strides;
  Place bytes = 0, arena_offset = 0, scalar = 0;
  Place distance = 0;            // bytes from the root's first element (views)
  SlotIndex root = 0;            // itself unless a view
  std::vector<SlotIndex> views;  // per-call views of this root
};

struct LaunchLayout {
  std::uint32_t kernel = 0;
  std::vector<SlotIndex> buffers;
  std::vector<SlotIndex> allocate;  // outputs first written here
  std::vector<Place> symbols;
  Place extent = 0, picoseconds = 0, scratch = 0;  // picoseconds: of one iteration
  std::int64_t chunk_multiple = 1;
};

struct ExternalLayout {
  // A tensor argument: stack[argument], or its item-th element when it is a list.
  struct TensorArgument {
    std::uint32_t argument = 0;
    int item = -1;
    SlotIndex slot = 0;
  };
  const plan::ExternalStep* step = nullptr;
  c10::OperatorHandle op;
  TypedCall typed = nullptr;
  std::vector<TensorArgument>
      tensors;  // all of them, in order; per_call ones are filled in each time
  std::vector<SlotIndex> results;
  std::vector<SlotIndex> allocate;
  bool out_variant = false;
  std::string name;
};

struct FreeLayout {
  std::vector<SlotIndex> slots;
};

using StepLayout = std::variant<LaunchLayout, ExternalLayout, FreeLayout>;

struct Layout {
  Layout(plan::Program program, std::vector<CompiledKernel> kernels);
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  plan::Program program;
  std::vector<CompiledKernel> kernels;
  plan::SymProgram integers;
  std::vector<SlotLayout> slots;
  std::vector<SlotIndex> per_call;  // slots whose memory is found anew in each call
  std::vector<StepLayout> steps;
  bool has_external_calls = false;
  bool has_literals = false;  // among the outputs
  std::vector<at::Tensor> constants;
  struct Guard {
    ir::SymGuard::Kind kind;
    Place left, right;
  };
  std::vector<Guard> guards;
  struct View {
    std::vector<Place> sizes, strides;
    Place distance = 0;  // from the base, in bytes where the dtype is another one than the base's
    std::optional<c10::ScalarType> other_dtype;
  };
  std::vector<View> output_views;  // per output; kViewOfInput and kViewOfOutput
  std::vector<View> metadata;      // per mutation; kMetadata
  std::vector<Place> literals;     // per output; symbolic literals
  Place arena_bytes = 0;
  c10::Device device{c10::kCPU};  // of the arena
  std::vector<std::uint32_t> mutated_inputs;
};

}  // namespace triptych::runtime
