#include "capture/guards/state_word.h"

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

namespace triptych::capture {
namespace {

// Where each mode lies in the third word.
struct Field {
  const char* name;
  int first;
  int bits;
  bool flag;  // printed as True or False
};

enum FieldIndex {
  kGradMode,
  kInferenceMode,
  kForwardGradMode,
  kAutocastCpu,
  kAutocastCuda,
  kAutocastCpuDtype,
  kAutocastCudaDtype,
  kAutocastCache,
  kDefaultDtype,
  kDeterministic,
  kDeterministicWarnOnly,
  kCudnn,
  kTorchFunction,
  kFunctionModes,
  kDispatchModes,
  kDualLevel,
  kFieldCount,
};

constexpr Field kFields[kFieldCount] = {
    {"grad mode", 0, 1, true},
    {"inference mode", 1, 1, true},
    {"forward-mode gradients", 2, 1, true},
    {"autocast for cpu", 3, 1, true},
    {"autocast for cuda", 4, 1, true},
    {"autocast's dtype for cpu", 5, 8, false},
    {"autocast's dtype for cuda", 13, 8, false},
    {"autocast's cache", 21, 1, true},
    {"the default dtype", 22, 8, false},
    {"deterministic algorithms", 30, 1, true},
    {"deterministic algorithms only warn", 31, 1, true},
    {"cudnn", 32, 1, true},
    {"__torch_function__", 33, 2, false},
    {"the number of __torch_function__ modes", 35, 8, false},
    {"the number of dispatch modes", 43, 8, false},
    {"a level of forward-mode gradients", 51, 1, true},
};

// Within `torch.autograd.forward_ad.dual_level()`: tensors may carry tangents then.
bool in_dual_level() {
  static PyObject* const names = [] {
    const Owned module = Owned::steal(PyImport_ImportModule("torch.autograd.forward_ad"));
    PyErr_Clear();
    return module ? Py_NewRef(PyModule_GetDict(module.get())) : nullptr;
  }();
  static PyObject* const name = PyUnicode_InternFromString("_current_level");
  PyObject* level = names == nullptr ? nullptr : PyDict_GetItemWithError(names, name);
  return level != nullptr && PyLong_Check(level) && PyLong_AsLong(level) >= 0;
}

class Packer {
 public:
  void set(FieldIndex field, std::uint64_t value) {
    const std::uint64_t most = (std::uint64_t{1} << kFields[field].bits) - 1;
    word_ |= std::min(value, most) << kFields[field].first;
  }
  std::uint64_t word() const { return word_; }

 private:
  std::uint64_t word_ = 0;
};

// Within vmap, grad, jvp and the like of torch.func, or under torch.jit.trace.
bool in_transform(const StateWord& state) {
  constexpr c10::DispatchKeySet kLayers({c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                         c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                                         c10::DispatchKey::Tracer});
  return (state.bits[0] & kLayers.raw_repr()) != 0;
}

std::uint64_t get(const StateWord& state, FieldIndex field) {
  const std::uint64_t most = (std::uint64_t{1} << kFields[field].bits) - 1;
  return state.bits[2] >> kFields[field].first & most;
}

std::string value_text(const Field& field, std::uint64_t value) {
  if (field.flag) return value != 0 ? "True" : "False";
  return std::to_string(value);
}

}  // namespace

StateWord read_state() {
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  const at::Context& context = at::globalContext();
  Packer packer;
  packer.set(kGradMode, autograd.get_grad_mode());
  packer.set(kInferenceMode, autograd.get_inference_mode());
  packer.set(kForwardGradMode, autograd.get_fw_grad_mode());
  const auto autocast = [&](c10::DeviceType device, FieldIndex flag, FieldIndex dtype) {
    packer.set(flag, at::autocast::is_autocast_enabled(device));
    packer.set(dtype, static_cast<std::uint64_t>(at::autocast::get_autocast_dtype(device)));
  };
  autocast(c10::kCPU, kAutocastCpu, kAutocastCpuDtype);
  autocast(c10::kCUDA, kAutocastCuda, kAutocastCudaDtype);
  packer.set(kAutocastCache, at::autocast::is_autocast_cache_enabled());
  packer.set(kDefaultDtype,
             static_cast<std::uint64_t>(c10::typeMetaToScalarType(c10::get_default_dtype())));
  packer.set(kDeterministic, context.deterministicAlgorithms());
  packer.set(kDeterministicWarnOnly, context.deterministicAlgorithmsWarnOnly());
  packer.set(kCudnn, context.userEnabledCuDNN());
  packer.set(kTorchFunction,
             static_cast<std::uint64_t>(at::impl::PythonTorchFunctionTLS::get_disabled_state()));
  packer.set(kFunctionModes,
             static_cast<std::uint64_t>(at::impl::PythonTorchFunctionTLS::stack_len()));
  packer.set(kDispatchModes,
             static_cast<std::uint64_t>(c10::impl::TorchDispatchModeTLS::stack_len()));
  packer.set(kDualLevel, in_dual_level());
  return {{keys.included_.raw_repr(), keys.excluded_.raw_repr(), packer.word()}};
}

std::string state_change(const StateWord& from, const StateWord& to) {
  for (int k = 0; k < kFieldCount; ++k) {
    const auto index = static_cast<FieldIndex>(k);
    const std::uint64_t old = get(from, index), now = get(to, index);
    if (old == now) continue;
    const Field& field = kFields[k];
    return std::string(field.name) + " changed: " + value_text(field, old) + " -> " +
           value_text(field, now);
  }
  return from == to ? std::string() : "the thread's dispatch keys changed";
}

bool state_has_modes(const StateWord& state) {
  return get(state, kFunctionModes) != 0 || get(state, kDispatchModes) != 0 ||
         get(state, kTorchFunction) != 0 || get(state, kDualLevel) != 0 || in_transform(state);
}

}  // namespace triptych::capture
