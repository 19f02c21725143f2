#include "runtime/frame.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>

#include "ir/sym_guard.h"
#include "ir/symbol_text.h"
#include "runtime/argument_to_ivalue.h"
#include "runtime/errors.h"
#include "runtime/large_memory.h"
#include "runtime/small_memory.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {

using Storage = plan::Slot::Storage;

namespace {

at::Tensor tensor_over(c10::Storage storage, c10::DispatchKeySet keys, at::ScalarType dtype,
                       at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t offset) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, std::move(storage), keys, c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return tensor;
}

c10::DispatchKeySet keys_of(c10::Device device) {
  return c10::DispatchKeySet(c10::computeDispatchKey(at::kFloat, at::kStrided, device));
}

c10::Storage storage_of(c10::DataPtr data, std::int64_t bytes, c10::Allocator* allocator) {
  return c10::Storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                      std::move(data), allocator, allocator != nullptr);
}

bool contiguous(at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::int64_t expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (strides[d] != expected) return false;
    expected *= std::max<std::int64_t>(sizes[d], 1);
  }
  return true;
}

}  // namespace

OutputShape::OutputShape(std::vector<std::int64_t> sizes_, std::vector<std::int64_t> strides_)
    : sizes(std::move(sizes_)),
      strides(std::move(strides_)),
      contiguous(runtime::contiguous(sizes, strides)) {}

at::Tensor empty_output(const OutputShape& shape, at::ScalarType dtype, c10::Device device,
                        std::int64_t bytes) {
  if (!device.is_cpu()) {
    return at::empty_strided(shape.sizes, shape.strides, at::TensorOptions(dtype).device(device));
  }
  const bool small = bytes > 0 && bytes <= kSmallBytes;
  if (!small && bytes < kLargeBytes)
    return at::Tensor(at::detail::empty_strided_cpu(shape.sizes, shape.strides, dtype));
  static const c10::DispatchKeySet keys = keys_of(c10::kCPU);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      storage_of(small ? allocate_small(bytes) : allocate_large(bytes), bytes,
                 c10::GetAllocator(at::kCPU)),
      keys, c10::scalarTypeToTypeMeta(dtype));
  // Strides that need no look at them are half the cost of a small tensor.
  if (shape.contiguous)
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(shape.sizes);
  else
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides);
  return tensor;
}

Frame::Frame(const Layout& layout)
    : layout_(layout),
      integers_(layout.integers.size()),
      nothing_(storage_of(c10::DataPtr(nullptr, layout.device), 0, nullptr)),
      tensors_(layout.slots.size()),
      pointers_(layout.slots.size()),
      data_(layout.slots.size()),
      shapes_(layout.slots.size()),
      stacks_(layout.steps.size()),
      launch_symbols_(layout.steps.size()) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) pointers_[i] = &tensors_[i];
}

void Frame::bind(const std::vector<std::int64_t>& symbols) {
  if (prepared_ && symbols == symbols_) return;
  prepared_ = false;
  symbols_ = symbols;
  prepare();
  prepared_ = true;
}

void Frame::prepare() {
  if (!layout_.integers.evaluate(symbols_, integers_)) {
    fail(unsupported("runtime.symbols", "a size formula divides by zero or exceeds 64 bits"));
  }
  check_guards();
  grow_arena();
  for (SlotIndex i = 0; i < layout_.slots.size(); ++i) prepare_slot(i);
  for (std::size_t s = 0; s < layout_.steps.size(); ++s) {
    if (const auto* launch = std::get_if<LaunchLayout>(&layout_.steps[s])) {
      launch_symbols_[s] = integers(launch->symbols);
    } else if (const auto* external = std::get_if<ExternalLayout>(&layout_.steps[s])) {
      prepare_stack(s, *external);
    }
  }
  nanoseconds_ = static_cast<double>(estimated_nanoseconds());
}

void Frame::check_guards() const {
  for (std::size_t i = 0; i < layout_.guards.size(); ++i) {
    const Layout::Guard& guard = layout_.guards[i];
    if (ir::holds(guard.kind, integer(guard.left), integer(guard.right))) continue;
    fail(user_error("runtime.guard", "the program was made for " +
                                         ir::relation_text(layout_.program.guards[i]) + ", found " +
                                         std::to_string(integer(guard.left)) + " and " +
                                         std::to_string(integer(guard.right))));
  }
  for (std::size_t i = 0; i < layout_.program.symbol_sources.size(); ++i) {
    const ir::Symbol name = layout_.program.symbol_sources[i].symbol;
    for (const ir::SymbolInfo& symbol : layout_.program.symbols) {
      if (symbol.name != name || (symbol.low <= symbols_[i] && symbols_[i] <= symbol.high))
        continue;
      fail(user_error("runtime.guard", "the program was made for " + name.str() + " from " +
                                           std::to_string(symbol.low) + ", found " +
                                           std::to_string(symbols_[i])));
    }
  }
}

void Frame::grow_arena() {
  const std::int64_t bytes = integer(layout_.arena_bytes);
  if (bytes <= arena_bytes_) return;
  arena_ = c10::Storage();  // before the larger one is made
  arena_bytes_ = 0;
  const bool large = layout_.device.is_cpu() && bytes >= kLargeBytes;
  c10::DataPtr data =
      large ? allocate_large(bytes)
            : c10::GetAllocator(layout_.device.type())->allocate(static_cast<std::size_t>(bytes));
  arena_ = storage_of(std::move(data), bytes, nullptr);
  arena_bytes_ = bytes;
}

void Frame::prepare_slot(SlotIndex index) {
  const SlotLayout& slot = layout_.slots[index];
  if (!slot.is_tensor) return;
  if (slot.storage == Storage::kConstant) {
    tensors_[index] = layout_.constants[layout_.program.slots[plan::SlotId{index}].index];
    data_[index] = static_cast<char*>(const_cast<void*>(tensors_[index].const_data_ptr()));
    return;
  }
  if (slot.per_call) {
    if (slot.storage == Storage::kOutput) {
      shapes_[index] = OutputShape(integers(slot.sizes), integers(slot.strides));
    }
    if (slot.storage == Storage::kView && slot.as_tensor) {
      tensors_[index] = tensor_over(nothing_, keys_of(slot.device), slot.dtype,
                                    integers(slot.sizes), integers(slot.strides), 0);
    }
    return;
  }
  // In the arena, or a view of what is there, or of a constant.
  const SlotLayout& root = layout_.slots[slot.root];
  const std::int64_t distance = integer(slot.distance);
  std::int64_t start = 0;  // bytes from the storage's beginning to the root
  c10::Storage storage = arena_;
  if (root.storage == Storage::kConstant) {
    const at::Tensor& constant = tensors_[slot.root];
    storage = constant.storage();
    start = constant.storage_offset() * root.item_bytes;
    data_[index] = data_[slot.root] + distance;
  } else {
    start = integer(root.arena_offset);
    data_[index] = static_cast<char*>(arena_ ? arena_.mutable_data() : nullptr) + start + distance;
    if (!arena_) storage = nothing_;  // only empty tensors live there
  }
  const std::int64_t offset = (start + distance) / slot.item_bytes;
  if (slot.as_tensor) {
    tensors_[index] = tensor_over(std::move(storage), keys_of(slot.device), slot.dtype,
                                  integers(slot.sizes), integers(slot.strides), offset);
  }
}

void Frame::prepare_stack(std::size_t step, const ExternalLayout& external) {
  std::vector<c10::IValue>& stack = stacks_[step];
  stack.clear();
  const ArgumentSource source = {
      [&](ir::ValueId id) -> c10::IValue {
        const SlotLayout& slot = layout_.slots[id.value];
        if (slot.storage == Storage::kScalar) return integer(slot.scalar);
        return slot.storage == Storage::kInput || slot.storage == Storage::kExternal ||
                       slot.storage == Storage::kOutput
                   ? c10::IValue(at::Tensor())  // filled in per call
                   : c10::IValue(tensors_[id.value]);
      },
      [&](const ir::SymExpr& expr) { return integer(layout_.integers.find(expr)); }};
  const auto& arguments = external.op.schema().arguments();
  for (std::size_t i = 0; i < external.step->args.size(); ++i) {
    stack.push_back(to_ivalue(external.step->args[i], *arguments.at(i).real_type(), source));
  }
  if (external.out_variant) {
    for (const SlotIndex result : external.results) stack.emplace_back(tensors_[result]);
  }
}

std::vector<std::int64_t> Frame::integers(const std::vector<Place>& places) const {
  std::vector<std::int64_t> values;
  values.reserve(places.size());
  for (const Place place : places) values.push_back(integers_[place]);
  return values;
}

void Frame::bind_views(const SlotLayout& root, const at::Tensor& tensor) {
  for (const SlotIndex index : root.views) {
    const SlotLayout& view = layout_.slots[index];
    const std::int64_t distance = integer(view.distance);
    data_[index] = data_[view.root] + distance;
    if (!view.as_tensor) continue;
    c10::TensorImpl* impl = tensors_[index].unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(tensor.storage());
    impl->set_storage_offset((tensor.storage_offset() * root.item_bytes + distance) /
                             view.item_bytes);
  }
}

void Frame::set_input(SlotIndex slot, const at::Tensor& tensor) {
  pointers_[slot] = &tensor;
  data_[slot] = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()));
  bind_views(layout_.slots[slot], tensor);
}

void Frame::allocate_output(SlotIndex slot) {
  const SlotLayout& layout = layout_.slots[slot];
  at::Tensor& tensor = tensors_[slot];
  tensor = empty_output(shapes_[slot], layout.dtype, layout.device, integer(layout.bytes));
  data_[slot] = static_cast<char*>(tensor.mutable_data_ptr());
  bind_views(layout, tensor);
}

void Frame::set_external(SlotIndex slot, at::Tensor tensor) {
  tensors_[slot] = std::move(tensor);
  if (!tensors_[slot].defined()) return;
  data_[slot] = static_cast<char*>(const_cast<void*>(tensors_[slot].const_data_ptr()));
  bind_views(layout_.slots[slot], tensors_[slot]);
}

void Frame::clear() noexcept {
  for (const SlotIndex i : layout_.per_call) {
    const SlotLayout& slot = layout_.slots[i];
    if (slot.storage == Storage::kView) {
      if (slot.as_tensor) tensors_[i].unsafeGetTensorImpl()->set_storage_keep_dtype(nothing_);
    } else if (slot.storage == Storage::kInput) {
      pointers_[i] = &tensors_[i];
    } else {
      tensors_[i] = at::Tensor();
    }
  }
}

at::Tensor Frame::view_of(const at::Tensor& base, const SlotLayout& slot) const {
  return tensor_over(base.storage(), base.key_set(), slot.dtype, integers(slot.sizes),
                     integers(slot.strides),
                     (base.storage_offset() * static_cast<std::int64_t>(base.itemsize()) +
                      integer(slot.distance)) /
                         slot.item_bytes);
}

double Frame::nanoseconds(const LaunchLayout& launch) const {
  return static_cast<double>(integer(launch.extent)) *
         static_cast<double>(integer(launch.picoseconds)) * 1e-3;
}

// Kernels by their formulas, an external call by what it reads and writes at the least.
std::int64_t Frame::estimated_nanoseconds() const {
  double total = 0;
  for (const StepLayout& step : layout_.steps) {
    if (const auto* launch = std::get_if<LaunchLayout>(&step)) {
      total += nanoseconds(*launch);
    } else if (const auto* external = std::get_if<ExternalLayout>(&step)) {
      total += 300;
      for (const auto& tensor : external->tensors) {
        total += static_cast<double>(integer(layout_.slots[tensor.slot].bytes)) * 0.1;
      }
    }
  }
  return static_cast<std::int64_t>(total);
}

}  // namespace triptych::runtime
