#include "normalize/tracer/fake_tensor.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/WrapDimMinimal.h>

#include "normalize/tracer/trace_key.h"

namespace triptych::normalize {

FakeTensorImpl::FakeTensorImpl(c10::Storage storage, c10::DispatchKeySet keys, at::ScalarType dtype,
                               c10::Device device, std::shared_ptr<SymbolicShapes> shapes)
    : c10::TensorImpl(std::move(storage), keys, c10::scalarTypeToTypeMeta(dtype)),
      device_(device),
      shapes_(std::move(shapes)) {
  set_custom_device(true);
}

std::int64_t FakeTensorImpl::concrete(const c10::SymInt& value, const char* what) const {
  if (!value.is_heap_allocated()) return value.as_int_unchecked();
  return shapes_->specialize(SymbolicShapes::expr(value), what);
}

at::IntArrayRef FakeTensorImpl::sizes_custom() const {
  if (!has_symbolic_sizes_strides()) return sizes_default();
  concrete_sizes_.clear();
  for (const c10::SymInt& size : sym_sizes_default())
    concrete_sizes_.push_back(concrete(size, "sizes"));
  return concrete_sizes_;
}

at::IntArrayRef FakeTensorImpl::strides_custom() const {
  if (!has_symbolic_sizes_strides()) return strides_default();
  concrete_strides_.clear();
  for (const c10::SymInt& stride : sym_strides_default())
    concrete_strides_.push_back(concrete(stride, "strides"));
  return concrete_strides_;
}

std::int64_t FakeTensorImpl::size_custom(std::int64_t dim) const {
  dim = c10::maybe_wrap_dim(dim, static_cast<std::int64_t>(sym_sizes_default().size()));
  return concrete(sym_sizes_default()[dim], "size");
}

std::int64_t FakeTensorImpl::numel_custom() const {
  return has_symbolic_sizes_strides() ? concrete(sym_numel_default(), "numel") : numel_default();
}

std::int64_t FakeTensorImpl::storage_offset_custom() const {
  return concrete(sym_storage_offset_default(), "storage_offset");
}

c10::intrusive_ptr<c10::TensorImpl> FakeTensorImpl::copy(
    const c10::VariableVersion& version_counter, bool allow_metadata_change) const {
  auto result = c10::make_intrusive<FakeTensorImpl>(
      c10::Storage(storage_), key_set_, c10::typeMetaToScalarType(data_type_), device_, shapes_);
  copy_tensor_metadata(this, result.get(), version_counter, allow_metadata_change);
  result->value = value;
  result->constant = constant;
  return result;
}

c10::intrusive_ptr<c10::TensorImpl> FakeTensorImpl::shallow_copy_and_detach(
    const c10::VariableVersion& version_counter, bool allow_metadata_change) const {
  return copy(version_counter, allow_metadata_change);
}

c10::intrusive_ptr<c10::TensorImpl> FakeTensorImpl::shallow_copy_and_detach(
    c10::VariableVersion&& version_counter, bool allow_metadata_change) const {
  return copy(version_counter, allow_metadata_change);
}

void FakeTensorImpl::shallow_copy_from(const c10::intrusive_ptr<c10::TensorImpl>& other) {
  const auto* source = dynamic_cast<const FakeTensorImpl*>(other.get());
  TORCH_CHECK(source, "triptych: .data of a traced tensor cannot be set to a real tensor");
  copy_tensor_metadata(source, this, version_counter(), allow_tensor_metadata_change());
  value = source->value;
  constant = source->constant;
}

FakeTensorImpl* as_fake(const at::Tensor& tensor) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!impl->key_set().has(trace_key())) return nullptr;
  return dynamic_cast<FakeTensorImpl*>(impl);
}

c10::Storage make_fake_storage(c10::SymInt bytes) {
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), std::move(bytes),
      at::DataPtr(nullptr, c10::Device(c10::kMeta)), nullptr, /*resizable=*/false));
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      std::string("triptych: a tensor has no data while its program is traced"));
  return storage;
}

static bool any_symbolic(const c10::SymDimVector& values) {
  for (const c10::SymInt& value : values) {
    if (value.is_heap_allocated()) return true;
  }
  return false;
}

// The key of the device's dense backend, as a real tensor there has, and the tracer's.
static c10::DispatchKeySet key_set_of(const c10::Device& device) {
  return c10::DispatchKeySet(
      {c10::computeDispatchKey(std::nullopt, c10::kStrided, device), trace_key()});
}

at::Tensor make_fake(const ResultMeta& meta, const std::shared_ptr<SymbolicShapes>& shapes,
                     const c10::Storage* storage) {
  c10::Storage memory;
  if (storage != nullptr) {
    memory = *storage;
  } else {
    c10::SymInt bytes = static_cast<std::int64_t>(c10::elementSize(meta.dtype));
    for (const c10::SymInt& size : meta.sizes) bytes = bytes * size;
    memory = make_fake_storage(std::move(bytes));
  }
  auto impl = c10::make_intrusive<FakeTensorImpl>(std::move(memory), key_set_of(meta.device),
                                                  meta.dtype, meta.device, shapes);
  if (any_symbolic(meta.sizes) || any_symbolic(meta.strides) ||
      meta.storage_offset.is_heap_allocated()) {
    impl->set_sizes_and_strides(meta.sizes, meta.strides, meta.storage_offset);
  } else {
    impl->set_sizes_and_strides(c10::asIntArrayRefUnchecked(meta.sizes),
                                c10::asIntArrayRefUnchecked(meta.strides),
                                meta.storage_offset.as_int_unchecked());
  }
  return at::Tensor(std::move(impl));
}

}  // namespace triptych::normalize
