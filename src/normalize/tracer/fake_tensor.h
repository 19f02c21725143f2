// The tensor that runs through torch while a program is traced: metadata and the graph value it
// stands for, no data. It lives below functionalization, so programs see it only wrapped in a
// FunctionalTensorWrapper.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include "ir/graph.h"
#include "normalize/shape_rules/shape_rule.h"
#include "normalize/tracer/symbolic_shapes.h"

namespace triptych::normalize {

class FakeTensorImpl final : public c10::TensorImpl {
 public:
  FakeTensorImpl(c10::Storage storage, c10::DispatchKeySet keys, at::ScalarType dtype,
                 c10::Device device, std::shared_ptr<SymbolicShapes> shapes);

  ir::ValueId value;    // invalid while recording is suspended
  at::Tensor constant;  // the small real tensor that this one was lifted from, for .item()

  const std::shared_ptr<SymbolicShapes>& shapes() const { return shapes_; }

  // Concrete readers of symbolic metadata specialise it, by guards that are counted.
  at::IntArrayRef sizes_custom() const override;
  at::IntArrayRef strides_custom() const override;
  std::int64_t size_custom(std::int64_t dim) const override;
  std::int64_t numel_custom() const override;
  std::int64_t storage_offset_custom() const override;
  c10::Device device_custom() const override { return device_; }

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(
      const c10::VariableVersion& version_counter, bool allow_metadata_change) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version_counter,
                                                         bool allow_metadata_change) const override;
  void shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& other) override;

 private:
  const char* tensorimpl_type_name() const override { return "TriptychFakeTensor"; }
  c10::intrusive_ptr<TensorImpl> copy(const c10::VariableVersion& version_counter,
                                      bool allow_metadata_change) const;
  std::int64_t concrete(const c10::SymInt& value, const char* what) const;

  c10::Device device_;
  std::shared_ptr<SymbolicShapes> shapes_;
  mutable std::vector<std::int64_t> concrete_sizes_;
  mutable std::vector<std::int64_t> concrete_strides_;
};

// The dynamic type decides, not a dispatch key: `real.data = fake` leaves plain tensors that carry
// our key.
FakeTensorImpl* as_fake(const at::Tensor& tensor);  // nullptr when it is none

// A new storage without data; reading its data pointer raises an error that says why.
c10::Storage make_fake_storage(c10::SymInt bytes);

// `storage`: shared with an alias; null for a fresh one.
at::Tensor make_fake(const ResultMeta& meta, const std::shared_ptr<SymbolicShapes>& shapes,
                     const c10::Storage* storage = nullptr);

}  // namespace triptych::normalize
