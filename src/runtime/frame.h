// What one running call of a program needs: the arena, tensors over it, pointers, prepared argument
// lists. A frame is kept between calls; with equal symbol values nothing of it is made anew.
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

#include "runtime/layout.h"

namespace triptych::runtime {

// Of an output, for given symbols.
struct OutputShape {
  OutputShape() = default;
  OutputShape(std::vector<std::int64_t> sizes_, std::vector<std::int64_t> strides_);
  std::vector<std::int64_t> sizes, strides;
  bool contiguous = false;  // the strides are those that PyTorch gives a contiguous tensor
};

class Frame {
 public:
  explicit Frame(const Layout& layout);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Values of the symbols for the call; everything that depends on them is made again when they
  // changed. Throws ProgramError when a guard does not hold.
  void bind(const std::vector<std::int64_t>& symbols);

  void set_input(SlotIndex slot, const at::Tensor& tensor);  // borrowed until clear()
  void allocate_output(SlotIndex slot);
  void set_external(SlotIndex slot, at::Tensor tensor);
  void free_external(SlotIndex slot) { tensors_[slot] = at::Tensor(); }
  // Lets go of everything that belongs to one call. Also called when the call failed half way.
  void clear() noexcept;

  const at::Tensor& tensor(SlotIndex slot) const { return *pointers_[slot]; }
  at::Tensor take(SlotIndex slot) { return std::move(tensors_[slot]); }  // undefined afterwards
  char* data(SlotIndex slot) const { return data_[slot]; }
  std::int64_t integer(Place place) const { return integers_[place]; }
  std::vector<std::int64_t> integers(const std::vector<Place>& places) const;
  const c10::IValue* stack(std::size_t step) const { return stacks_[step].data(); }
  std::size_t stack_size(std::size_t step) const { return stacks_[step].size(); }
  const std::int64_t* launch_symbols(std::size_t step) const {
    return launch_symbols_[step].data();
  }
  double nanoseconds() const { return nanoseconds_; }  // of the whole program, estimated
  double nanoseconds(const LaunchLayout& launch) const;
  std::int64_t arena_bytes() const { return arena_bytes_; }
  bool owns(const c10::StorageImpl* storage) const {
    return storage == arena_.unsafeGetStorageImpl();
  }
  // Kept for whoever reads the symbols of a call.
  std::vector<std::int64_t>& read_symbols() { return read_symbols_; }
  // A tensor of its own over another tensor's memory (not one of the prepared ones).
  at::Tensor view_of(const at::Tensor& base, const SlotLayout& slot) const;

 private:
  void prepare();
  void check_guards() const;
  void grow_arena();
  void prepare_slot(SlotIndex index);
  void prepare_stack(std::size_t step, const ExternalLayout& external);
  void bind_views(const SlotLayout& root, const at::Tensor& tensor);
  std::int64_t estimated_nanoseconds() const;

  const Layout& layout_;
  bool prepared_ = false;
  std::vector<std::int64_t> symbols_, read_symbols_;
  std::vector<std::int64_t> integers_;
  c10::Storage arena_;
  std::int64_t arena_bytes_ = 0;
  c10::Storage nothing_;                     // what views of per-call memory show between calls
  std::vector<at::Tensor> tensors_;          // per slot
  std::vector<const at::Tensor*> pointers_;  // per slot: into tensors_, or the caller's input
  std::vector<char*> data_;                  // per slot
  std::vector<OutputShape> shapes_;          // per slot: of outputs
  std::vector<std::vector<c10::IValue>> stacks_;           // per step
  std::vector<std::vector<std::int64_t>> launch_symbols_;  // per step
  double nanoseconds_ = 0;
};

// An uninitialised tensor that is returned to the user; large ones reuse memory (large_memory.h).
at::Tensor empty_output(const OutputShape& shape, at::ScalarType dtype, c10::Device device,
                        std::int64_t bytes);

}  // namespace triptych::runtime
