#include "runtime/input_check.h"

#include <c10/core/InferenceMode.h>

#include "runtime/errors.h"
#include "runtime/list_text.h"

namespace triptych::runtime {

using Source = plan::Program::SymbolSource;

namespace {

[[noreturn]] void refuse(const Layout& layout, std::size_t input, const std::string& found,
                         const std::string& expected) {
  const std::string& name = layout.program.inputs[input].name;
  fail(user_error("runtime.input", "input " + std::to_string(input) + " (" + name + "): found " +
                                       found + ", expected " + expected));
}

void check_kind(const Layout& layout, std::size_t i, const InputRef& input) {
  const SlotLayout& slot = layout.slots[i];
  if (!slot.is_tensor) {
    if (input.tensor != nullptr) refuse(layout, i, "a tensor", "an integer");
    return;
  }
  if (input.tensor == nullptr) refuse(layout, i, "an integer", "a tensor");
  const at::Tensor& tensor = *input.tensor;
  if (!tensor.defined()) refuse(layout, i, "an undefined tensor", "a tensor");
  if (tensor.scalar_type() != slot.dtype) {
    refuse(layout, i, std::string("dtype ") + c10::toString(tensor.scalar_type()),
           std::string("dtype ") + c10::toString(slot.dtype));
  }
  if (tensor.device().type() != slot.device.type() ||
      (slot.device.has_index() && tensor.device().has_index() && tensor.device() != slot.device)) {
    refuse(layout, i, "device " + tensor.device().str(), "device " + slot.device.str());
  }
  if ((tensor.key_set().raw_repr() & ~slot.allowed_keys) != 0) {
    refuse(layout, i, "a tensor with dispatch keys " + c10::toString(tensor.key_set()),
           "a plain strided tensor");
  }
  if (tensor.sizes().size() != slot.sizes.size()) {
    refuse(layout, i, "sizes " + list_text(tensor.sizes()),
           std::to_string(slot.sizes.size()) + " dimensions");
  }
}

std::int64_t read_symbol(const Source& source, const InputRef& input) {
  switch (source.kind) {
    case Source::Kind::kSize:
      return input.tensor->sizes()[static_cast<std::size_t>(source.dim)];
    case Source::Kind::kStride:
      return input.tensor->strides()[static_cast<std::size_t>(source.dim)];
    case Source::Kind::kOffset:
      return input.tensor->storage_offset();
    case Source::Kind::kScalar:
      return input.integer;
  }
  TRIPTYCH_UNREACHABLE("symbol source");
}

bool shape_matches(const SlotLayout& slot, const Frame& frame, const at::Tensor& tensor) {
  const at::IntArrayRef sizes = tensor.sizes();
  const at::IntArrayRef strides = tensor.strides();
  bool empty = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != frame.integer(slot.sizes[d])) return false;
    empty = empty || sizes[d] == 0;
  }
  for (std::size_t d = 0; d < sizes.size() && !empty; ++d) {
    if (sizes[d] != 1 && strides[d] != frame.integer(slot.strides[d])) return false;
  }
  return true;
}

struct Range {
  std::uintptr_t begin = 0, end = 0;
};

Range memory_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  std::int64_t last = 0;
  for (std::size_t d = 0; d < tensor.sizes().size(); ++d) {
    last += (tensor.sizes()[d] - 1) * tensor.strides()[d];
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  return {begin, begin + static_cast<std::uintptr_t>((last + 1) *
                                                     static_cast<std::int64_t>(tensor.itemsize()))};
}

}  // namespace

std::vector<c10::IValue> values_of(std::span<const InputRef> inputs) {
  std::vector<c10::IValue> values;
  values.reserve(inputs.size());
  for (const InputRef& input : inputs) {
    if (input.tensor != nullptr)
      values.emplace_back(*input.tensor);
    else
      values.emplace_back(input.integer);
  }
  return values;
}

[[noreturn]] static void wrong_count(const std::vector<ir::Input>& expected, std::size_t found) {
  constexpr std::size_t kShown = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(expected.size(), kShown); ++i)
    names += (i > 0 ? ", " : "") + expected[i].name;
  if (expected.size() > kShown) names += ", ...";
  std::string message =
      "found " + std::to_string(found) + " inputs, expected " + std::to_string(expected.size());
  if (!names.empty()) message += " (" + names + ")";
  // One graph input may stand for several arguments of the program.
  if (found > expected.size())
    message += "; a tensor that stands twice in the example inputs is one input";
  fail(user_error("runtime.input_count", std::move(message)));
}

void read_symbols(const Layout& layout, std::span<const InputRef> inputs,
                  std::vector<std::int64_t>& symbols) {
  if (inputs.size() != layout.program.inputs.size()) {
    wrong_count(layout.program.inputs, inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) check_kind(layout, i, inputs[i]);
  symbols.clear();
  for (const Source& source : layout.program.symbol_sources) {
    symbols.push_back(read_symbol(source, inputs[source.input]));
  }
}

void check_shapes(const Layout& layout, const Frame& frame, std::span<const InputRef> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SlotLayout& slot = layout.slots[i];
    if (!slot.is_tensor) {
      if (frame.integer(slot.scalar) == inputs[i].integer) continue;
      refuse(layout, i, std::to_string(inputs[i].integer),
             std::to_string(frame.integer(slot.scalar)));
    }
    const at::Tensor& tensor = *inputs[i].tensor;
    if (shape_matches(slot, frame, tensor)) continue;
    refuse(layout, i,
           "sizes " + list_text(tensor.sizes()) + " strides " + list_text(tensor.strides()),
           "sizes " + list_text(frame.integers(slot.sizes)) + " strides " +
               list_text(frame.integers(slot.strides)));
  }
}

void check_written_inputs(const Layout& layout, std::span<const InputRef> inputs) {
  for (const std::uint32_t mutated : layout.mutated_inputs) {
    // An inference tensor that may not be written: raises, before anything is.
    if (inputs[mutated].tensor->is_inference() && !c10::InferenceMode::is_enabled())
      inputs[mutated].tensor->unsafeGetTensorImpl()->bump_version();
    const Range mine = memory_of(*inputs[mutated].tensor);
    for (std::uint32_t other = 0; other < inputs.size(); ++other) {
      if (other == mutated || inputs[other].tensor == nullptr) continue;
      const Range theirs = memory_of(*inputs[other].tensor);
      if (mine.begin >= theirs.end || theirs.begin >= mine.end) continue;
      fail(unsupported("runtime.overlap", "input " + std::to_string(mutated) + " (" +
                                              layout.program.inputs[mutated].name +
                                              ") is written and shares memory with input " +
                                              std::to_string(other) + " (" +
                                              layout.program.inputs[other].name + ")"));
    }
  }
}

}  // namespace triptych::runtime
