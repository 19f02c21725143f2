// A file of its own: torch's headers that let everything here be inlined take long to compile.
#include "capture/guards/compact_facts.h"

#include <algorithm>

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

namespace triptych::capture {
namespace {

bool requires_grad(const c10::TensorImpl& impl) {
  const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(impl.autograd_meta());
  return meta != nullptr && (meta->requires_grad_ || meta->grad_fn_);
}

}  // namespace

std::optional<CompactFacts> CompactFacts::of(const TensorFacts& facts) {
  const std::size_t rank = facts.sizes.size();
  if (rank > kMostDimensions || !facts.symbolic.empty() || facts.strides.size() != rank ||
      facts.storage_offset != TensorFacts::kAnyOffset) {
    return std::nullopt;
  }
  CompactFacts compact;
  compact.type_ = reinterpret_cast<PyTypeObject*>(facts.type.get());
  compact.dispatch_keys_ = facts.dispatch_keys;
  compact.dtype_ = facts.dtype;
  compact.device_type_ = facts.device_type;
  compact.device_index_ = facts.device_index;
  compact.requires_grad_ = facts.requires_grad;
  compact.rank_ = static_cast<std::uint32_t>(rank);
  std::ranges::copy(facts.sizes, compact.sizes_.begin());
  std::ranges::copy(facts.strides, compact.strides_.begin());
  return compact;
}

bool CompactFacts::match(PyObject* object) const {
  if (Py_TYPE(object) != type_) return false;
  const c10::TensorImpl& impl = *THPVariable_Unpack(object).unsafeGetTensorImpl();
  const c10::Device device = impl.device();
  if (impl.key_set().raw_repr() != dispatch_keys_ ||
      static_cast<std::int8_t>(c10::typeMetaToScalarType(impl.dtype())) != dtype_ ||
      static_cast<std::int8_t>(device.type()) != device_type_ || device.index() != device_index_ ||
      requires_grad(impl) != requires_grad_) {
    return false;
  }
  const c10::IntArrayRef sizes = impl.sizes(), strides = impl.strides();
  if (sizes.size() != rank_) return false;
  for (std::uint32_t d = 0; d < rank_; ++d) {
    if (sizes[d] != sizes_[d] || strides[d] != strides_[d]) return false;
  }
  return true;
}

}  // namespace triptych::capture
