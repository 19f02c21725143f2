#include "capture/trace/tensor_trace.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/alias.h>

#include <utility>
#include <vector>

#include "normalize/input_strides.h"
#include "normalize/tracer/fake_tensor.h"
#include "normalize/tracer/trace.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"
#include "python_bridge/python_runner.h"
#include "python_bridge/tensors/tensor_conversion.h"

namespace triptych::capture {
namespace {

namespace functional = at::functionalization::impl;

constexpr c10::DeviceType kDevicesWithAutocast[] = {c10::kCPU, c10::kCUDA};

// The thread's modes that a program may set while it is traced.
class Modes {
 public:
  Modes()
      : keys_(c10::impl::tls_local_dispatch_key_set()),
        autograd_(c10::AutogradState::get_tls_state()) {
    for (const c10::DeviceType device : kDevicesWithAutocast) {
      autocast_.emplace_back(at::autocast::is_autocast_enabled(device),
                             at::autocast::get_autocast_dtype(device));
    }
    cache_ = at::autocast::is_autocast_cache_enabled();
  }
  ~Modes() {
    c10::AutogradState::set_tls_state(autograd_);
    for (std::size_t i = 0; i < autocast_.size(); ++i) {
      at::autocast::set_autocast_enabled(kDevicesWithAutocast[i], autocast_[i].first);
      at::autocast::set_autocast_dtype(kDevicesWithAutocast[i], autocast_[i].second);
    }
    at::autocast::set_autocast_cache_enabled(cache_);
    c10::impl::_force_tls_local_dispatch_key_set(keys_);
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

  const c10::impl::LocalDispatchKeySet& keys() const { return keys_; }
  bool grad_mode() const { return autograd_.get_grad_mode(); }
  bool others_changed() const {
    const c10::AutogradState& now = c10::AutogradState::get_tls_state();
    bool changed = now.get_inference_mode() != autograd_.get_inference_mode() ||
                   now.get_fw_grad_mode() != autograd_.get_fw_grad_mode() ||
                   at::autocast::is_autocast_cache_enabled() != cache_;
    for (std::size_t i = 0; i < autocast_.size(); ++i) {
      const c10::DeviceType device = kDevicesWithAutocast[i];
      changed |= at::autocast::is_autocast_enabled(device) != autocast_[i].first ||
                 at::autocast::get_autocast_dtype(device) != autocast_[i].second;
    }
    return changed;
  }

 private:
  c10::impl::LocalDispatchKeySet keys_;
  c10::AutogradState autograd_;
  std::vector<std::pair<bool, at::ScalarType>> autocast_;
  bool cache_ = true;
};

}  // namespace

struct TensorTrace::State {
  State(PyObject* default_table, PyObject* at_no_node)
      : table(Owned::copy(default_table)),
        position(Owned::copy(at_no_node)),
        runner(
            python_bridge::PythonProgram{.default_table = default_table, .position = at_no_node}),
        trace("capture", runner, {}),
        scope(trace) {
    trace.set_recording(false);
    normalize::Unsupported::pending().reset();
  }

  Owned table, position;
  Modes modes;
  python_bridge::PythonRunner runner;
  normalize::Trace trace;
  normalize::TraceScope scope;
};

TensorTrace::TensorTrace(std::unique_ptr<State> state) : state_(std::move(state)) {}

TensorTrace::~TensorTrace() { normalize::Unsupported::pending().reset(); }

Result<std::unique_ptr<TensorTrace>> TensorTrace::open(Borrowed default_table) {
  TRIPTYCH_TRY([[maybe_unused]] const Unit registered, normalize::register_trace_fallback());
  if (normalize::Trace::current() != nullptr)
    return unsupported("capture.nested", "a trace is running already in this thread");
  const Owned at_no_node = Owned::steal(Py_BuildValue("[i]", -1));
  return std::unique_ptr<TensorTrace>(
      new TensorTrace(std::make_unique<State>(default_table.get(), at_no_node.get())));
}

std::optional<Error> TensorTrace::refusal(PyObject* object) {
  const at::Tensor& real = *tensor_of(object);
  const auto refuse = [](const char* what) {
    return unsupported("capture.tensor", std::string("a tensor that is ") + what);
  };
  if (real.layout() != c10::kStrided || real.is_nested()) return refuse("not strided");
  if (real.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python))
    return refuse("of a subclass");
  if (real.is_conj() || real.is_neg()) return refuse("a lazy conjugate or negative");
  if (functional::isFunctionalTensor(real)) return refuse("under functionalization already");
  if (real.is_quantized()) return refuse("quantized");
  return std::nullopt;
}

std::vector<ir::SymGuard> TensorTrace::relations() const {
  return state_->trace.shapes()->guards();
}

Owned TensorTrace::symbolic_integer(const std::string& name, std::int64_t hint) {
  return Owned::steal(python_bridge::to_python(state_->trace.shapes()->symbol(name, hint)));
}

Owned TensorTrace::fake(PyObject* object, const Symbols& symbols) {
  const at::Tensor& real = *tensor_of(object);
  try {
    const c10::AutoGradMode no_grad(false);
    at::Tensor wrapper;
    {
      c10::impl::ExcludeDispatchKeyGuard below(normalize::keys_above_tracing());
      at::AutoDispatchBelowAutograd no_autograd;
      const at::Tensor fake =
          normalize::make_fake(normalize::symbolic_metadata(real, symbols, *state_->trace.shapes()),
                               state_->trace.shapes());
      wrapper = functional::to_functional_tensor(fake);
    }
    if (real.requires_grad()) {
      wrapper.set_requires_grad(true);
      if (!real.is_leaf()) {
        const c10::AutoGradMode grad(true);
        wrapper = at::alias(wrapper);
      }
    }
    return Owned::steal(wrap_tensor(std::move(wrapper)));
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return {};
  }
}

bool TensorTrace::is_fake(PyObject* tensor) {
  const at::Tensor* found = tensor_of(tensor);
  return found != nullptr && functional::isFunctionalTensor(*found);
}

bool TensorTrace::requires_grad(PyObject* input) {
  const at::Tensor* tensor = tensor_of(input);
  return tensor != nullptr && tensor->requires_grad();
}

std::int64_t TensorTrace::writes(PyObject* input) {
  const at::Tensor* found = tensor_of(input);
  if (found == nullptr) return 0;  // a symbolic integer
  // One of inference mode counts no versions: whoever runs the graph looks at its inputs' memory.
  return found->is_inference() ? 0 : found->_version();
}

struct TensorTrace::Pause::Keys {
  explicit Keys(const c10::impl::LocalDispatchKeySet& outside)
      : guard(outside.included_, outside.excluded_) {}
  c10::impl::ForceDispatchKeyGuard guard;
};

TensorTrace::Pause::Pause(TensorTrace& trace)
    : keys_(std::make_unique<Keys>(trace.state_->modes.keys())) {}

TensorTrace::Pause::~Pause() = default;

bool TensorTrace::grad_mode() { return c10::GradMode::is_enabled(); }

bool TensorTrace::grad_mode_changed() const { return grad_mode() != state_->modes.grad_mode(); }

bool TensorTrace::other_modes_changed() const { return state_->modes.others_changed(); }

std::uint64_t TensorTrace::ops() const {
  const normalize::TraceCounters& counters = state_->trace.counters();
  return static_cast<std::uint64_t>(counters.by_rule) + counters.by_python_meta;
}

bool TensorTrace::draws() const { return state_->trace.counters().random != 0; }

std::optional<Error> TensorTrace::take_refusal() {
  return std::exchange(normalize::Unsupported::pending(), std::nullopt);
}

}  // namespace triptych::capture
