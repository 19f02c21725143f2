#include "normalize/tracer/eager_trial.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "normalize/tracer/trace_key.h"

namespace triptych::normalize {
namespace {

constexpr std::int64_t kSize = 2;  // even for glu, above one for var, equal for matrix products

// What stands for the integers of a list that says sizes; nullopt for other lists.
std::optional<std::int64_t> size_in_list(const std::string& name) {
  if (name == "pad") return 1;
  const bool sizes = name == "size" || name == "output_size" || name == "normalized_shape";
  return sizes ? std::optional(kSize) : std::nullopt;
}

// The small arguments of one trial, and the key that says what was tried.
class Trial {
 public:
  Trial(const OpEntry& op, const SymbolicShapes& shapes) : op_(op), shapes_(shapes) {
    put(op.index);
  }

  // False: the argument has no small form.
  bool add(const std::string& name, const c10::IValue& value) {
    put(static_cast<int>(value.isTensor()));
    if (value.isTensor()) return add_tensor(value.toTensor());
    if (value.isSymInt()) {
      return keep(shapes_.hint(SymbolicShapes::expr(value.toSymInt())));
    }
    const auto size = size_in_list(name);
    if (size && (value.isIntList() || value.isSymIntList())) {
      const std::size_t count = value.toListRef().size();
      put(count);
      args_.emplace_back(std::vector<std::int64_t>(count, *size));
      return true;
    }
    if (value.isDevice()) return value.toDevice().is_cpu() && keep(value);
    if (value.isList() || value.isTuple()) return add_list(value);
    return (value.isNone() || value.isScalar() || value.isString()) && keep(value);
  }

  const std::string& key() const { return key_; }

  void run() {
    const at::NoGradGuard no_grad;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing() |
                                                   c10::autocast_dispatch_keyset);
    // Most trials have been made before, and need no tensors.
    for (const Place& place : places_) args_[place.at] = small(place);
    op_.handle.callBoxed(&args_);
  }

 private:
  struct Place {
    std::size_t at;
    at::ScalarType dtype;
    std::int64_t rank;
    bool wrapped;
  };

  template <class T>
  void put(const T& value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  bool add_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return keep(c10::IValue());
    const bool plain = tensor.layout() == c10::kStrided && !tensor.is_quantized() &&
                       (tensor.is_cpu() || tensor.is_meta());
    if (!plain || tensor.is_conj() || tensor.is_neg()) return false;
    const bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    places_.push_back({args_.size(), tensor.scalar_type(), tensor.dim(), wrapped});
    put(tensor.scalar_type());
    put(tensor.dim());
    put(wrapped);
    args_.emplace_back();
    return true;
  }

  bool add_list(const c10::IValue& value) {
    if (value.isTensorList() || value.isOptionalTensorList()) return false;
    for (const c10::IValue& item : value.toListRef()) {
      if (!item.isInt() && !item.isDouble() && !item.isBool()) return false;
      put_number(item);
    }
    put('.');
    args_.push_back(value);
    return true;
  }

  bool keep(const c10::IValue& value) {
    if (value.isString()) {
      key_.append(value.toStringRef()).push_back('\0');
    } else if (!value.isNone() && !value.isDevice()) {
      put_number(value);
    } else {
      put('-');
    }
    args_.push_back(value);
    return true;
  }

  void put_number(const c10::IValue& value) {
    if (value.isInt()) {
      put('i');
      put(value.toInt());
    } else if (value.isDouble()) {
      put('d');
      put(value.toDouble());
    } else if (value.isBool()) {
      put(value.toBool() ? 't' : 'f');
    } else {
      put('c');
      put(value.toComplexDouble());
    }
  }

  // Ones, so that nothing divides by zero; where tensors may be positions, zeros.
  at::Tensor small(const Place& place) const {
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(place.rank), kSize);
    const bool position = !op_.pointwise && c10::isIntegralType(place.dtype, false);
    at::Tensor made = position ? at::zeros(sizes, place.dtype) : at::ones(sizes, place.dtype);
    if (place.wrapped) made.unsafeGetTensorImpl()->set_wrapped_number(true);
    return made;
  }

  const OpEntry& op_;
  const SymbolicShapes& shapes_;
  torch::jit::Stack args_;
  std::vector<Place> places_;
  std::string key_;
};

// What eager has accepted, of all traces.
class Accepted {
 public:
  bool contains(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return keys_.contains(key);
  }
  void add(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (keys_.size() >= kLimit) keys_.clear();  // numbers differ from program to program
    keys_.insert(key);
  }

 private:
  static constexpr std::size_t kLimit = 100'000;
  std::mutex mutex_;
  std::unordered_set<std::string> keys_;
};

Accepted& accepted() {
  static auto* it = new Accepted();
  return *it;
}

}  // namespace

void try_in_eager(const OpEntry& op, c10::ArrayRef<c10::IValue> args,
                  const SymbolicShapes& shapes) {
  if (!op.tried) return;
  Trial trial(op, shapes);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!trial.add(op.handle.schema().arguments()[i].name(), args[i])) return;
  }
  if (accepted().contains(trial.key())) return;
  trial.run();
  accepted().add(trial.key());
}

}  // namespace triptych::normalize
