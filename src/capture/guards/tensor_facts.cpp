#include "capture/guards/tensor_facts.h"

#include <algorithm>
#include <numeric>

#include <ATen/core/Tensor.h>

#include "python_bridge/tensors/tensor_conversion.h"

namespace triptych::capture {
namespace {

const at::Tensor& unpack(PyObject* object) { return unchecked_tensor(object); }

bool metadata_matches(const TensorFacts& facts, const c10::TensorImpl& impl) {
  if (impl.key_set().raw_repr() != facts.dispatch_keys) return false;
  if (static_cast<std::int8_t>(c10::typeMetaToScalarType(impl.dtype())) != facts.dtype) {
    return false;
  }
  const c10::Device device = impl.device();
  return static_cast<std::int8_t>(device.type()) == facts.device_type &&
         device.index() == facts.device_index && impl.requires_grad() == facts.requires_grad;
}

bool symbolic_shape_matches(const TensorFacts& facts, const at::Tensor& tensor) {
  for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(d));
    if (facts.symbolic[d] ? size < 2 : size != facts.sizes[d]) return false;
  }
  std::int64_t dense = 1;
  for (const std::uint8_t d : facts.order) {
    const std::int64_t stride = tensor.stride(d);
    if (stride != (facts.dense[d] ? dense : facts.strides[d])) return false;
    dense = stride * tensor.size(d);
  }
  return true;
}

bool shape_matches(const TensorFacts& facts, const at::Tensor& tensor) {
  if (static_cast<std::size_t>(tensor.dim()) != facts.sizes.size()) return false;
  if (facts.storage_offset != TensorFacts::kAnyOffset &&
      tensor.storage_offset() != facts.storage_offset) {
    return false;
  }
  if (!facts.symbolic.empty()) return symbolic_shape_matches(facts, tensor);
  return tensor.sizes() == c10::IntArrayRef(facts.sizes) &&
         tensor.strides() == c10::IntArrayRef(facts.strides);
}

std::string change(const std::string& what, const std::string& from, const std::string& to) {
  return what + " changed: " + from + " -> " + to;
}

std::string shape_text(c10::IntArrayRef sizes) {
  std::string text = "[";
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(sizes[d]);
  }
  return text + "]";
}

std::string dtype_text(std::int8_t dtype) {
  return c10::toString(static_cast<c10::ScalarType>(dtype));
}

std::string device_text(std::int8_t type, std::int8_t index) {
  return c10::Device(static_cast<c10::DeviceType>(type), index).str();
}

// Nested and sparse tensors have none that could be asked for.
bool has_strides(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_nested();
}

std::string shape_change(const TensorFacts& facts, const at::Tensor& tensor) {
  if (static_cast<std::size_t>(tensor.dim()) != facts.sizes.size()) {
    return change(".shape", shape_text(facts.sizes), shape_text(tensor.sizes()));
  }
  for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(d));
    const bool symbol = !facts.symbolic.empty() && facts.symbolic[d];
    if (symbol ? size < 2 : size != facts.sizes[d]) {
      return change(".shape[" + std::to_string(d) + "]", std::to_string(facts.sizes[d]),
                    std::to_string(size));
    }
  }
  if (!shape_matches(facts, tensor)) {
    return change(".stride()", shape_text(facts.strides), shape_text(tensor.strides()));
  }
  return {};
}

// The first and the last byte that a tensor reaches.
struct Extent {
  const char* first;
  const char* last;
};

Extent extent_of(const at::Tensor& tensor) {
  const char* first = static_cast<const char*>(tensor.const_data_ptr());
  std::int64_t reach = 0;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    reach += (tensor.size(d) - 1) * tensor.stride(d);
  }
  return {first, first + (reach + 1) * static_cast<std::int64_t>(tensor.element_size()) - 1};
}

}  // namespace

TensorFacts read_tensor_facts(PyObject* object) {
  const at::Tensor& tensor = *tensor_of(object);
  TensorFacts facts;
  facts.type = Owned::copy(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  facts.dispatch_keys = tensor.key_set().raw_repr();
  facts.dtype = static_cast<std::int8_t>(tensor.scalar_type());
  facts.device_type = static_cast<std::int8_t>(tensor.device().type());
  facts.device_index = tensor.device().index();
  facts.requires_grad = tensor.requires_grad();
  facts.is_leaf_parameter = tensor.requires_grad() && tensor.is_leaf();
  facts.neg = tensor.is_neg();
  facts.conj = tensor.is_conj();
  facts.inference = tensor.is_inference();
  if (tensor.layout() == c10::kStrided) {
    facts.sizes = tensor.sizes().vec();
    facts.strides = tensor.strides().vec();
  }
  return facts;
}

void follow_sizes(TensorFacts& facts) {
  const std::size_t rank = facts.sizes.size();
  facts.order.resize(rank);
  facts.dense.assign(rank, false);
  std::iota(facts.order.begin(), facts.order.end(), std::uint8_t{0});
  std::stable_sort(facts.order.begin(), facts.order.end(), [&](std::uint8_t a, std::uint8_t b) {
    if (facts.strides[a] != facts.strides[b]) return facts.strides[a] < facts.strides[b];
    return facts.sizes[a] == facts.sizes[b] ? a > b : facts.sizes[a] < facts.sizes[b];
  });
  std::int64_t dense = 1;
  for (const std::uint8_t d : facts.order) {
    facts.dense[d] = facts.strides[d] == dense;
    dense = facts.strides[d] * facts.sizes[d];
  }
}

bool tensor_matches(const TensorFacts& facts, PyObject* object) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != facts.type.get()) return false;
  const at::Tensor& tensor = unpack(object);
  return metadata_matches(facts, *tensor.unsafeGetTensorImpl()) && shape_matches(facts, tensor);
}

std::string tensor_text(const TensorFacts& facts) {
  std::string text = dtype_text(facts.dtype) + "[";
  for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
    const bool symbol = !facts.symbolic.empty() && facts.symbolic[d];
    text += (d == 0 ? "" : ", ") + (symbol ? std::string("s") : std::to_string(facts.sizes[d]));
  }
  return text + "] on " + device_text(facts.device_type, facts.device_index) +
         (facts.requires_grad ? ", requires grad" : "");
}

std::string tensor_change(const TensorFacts& facts, PyObject* object) {
  const auto* type = reinterpret_cast<PyTypeObject*>(facts.type.get());
  if (Py_TYPE(object) != type) return change(" type", type->tp_name, Py_TYPE(object)->tp_name);
  const at::Tensor& tensor = unpack(object);
  if (!has_strides(tensor)) return change(".layout", "strided", "another");
  if (const std::string text = shape_change(facts, tensor); !text.empty()) return text;
  const auto dtype = static_cast<std::int8_t>(tensor.scalar_type());
  if (dtype != facts.dtype) return change(".dtype", dtype_text(facts.dtype), dtype_text(dtype));
  const std::string device = tensor.device().str();
  const std::string old_device = device_text(facts.device_type, facts.device_index);
  if (device != old_device) return change(".device", old_device, device);
  if (tensor.requires_grad() != facts.requires_grad) {
    return change(".requires_grad", facts.requires_grad ? "True" : "False",
                  facts.requires_grad ? "False" : "True");
  }
  if (tensor.key_set().raw_repr() != facts.dispatch_keys) return " dispatch keys changed";
  return {};
}

std::vector<std::int64_t> sizes_of(const TensorFacts& facts, PyObject* object) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != facts.type.get()) return {};
  const at::Tensor& tensor = unpack(object);
  if (!has_strides(tensor)) return {};
  if (static_cast<std::size_t>(tensor.dim()) != facts.sizes.size()) return {};
  return tensor.sizes().vec();
}

std::int64_t tensor_size(PyObject* tensor, int dimension) { return unpack(tensor).size(dimension); }

bool tensors_disjoint(PyObject* a, PyObject* b) {
  const at::Tensor& left = unpack(a);
  const at::Tensor& right = unpack(b);
  if (left.numel() == 0 || right.numel() == 0 || left.device() != right.device()) return true;
  const Extent x = extent_of(left), y = extent_of(right);
  return x.last < y.first || y.last < x.first;
}

std::int64_t tensor_version(PyObject* tensor) {
  const at::Tensor& found = unpack(tensor);
  return found.is_inference() ? -1 : found._version();
}

void set_tensor_version(PyObject* tensor, std::int64_t version) {
  // The counter is one object for all copies of its handle.
  c10::VariableVersion counter = unpack(tensor).unsafeGetTensorImpl()->version_counter();
  counter.set_version(version);
}

PyObject* tensor_grad(PyObject* tensor) {
  const at::Tensor& grad = unpack(tensor).grad();
  return grad.defined() ? wrap_tensor(grad) : nullptr;
}

bool is_tensor_type(PyTypeObject* type) { return PyType_IsSubtype(type, tensor_type()) != 0; }

}  // namespace triptych::capture
