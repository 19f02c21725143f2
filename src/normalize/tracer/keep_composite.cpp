// A composite op that stays one node: what its results are is found by taking it apart without
// recording. Where one node could not stand for it, it is taken apart as ever: where it returns or
// writes its arguments, where autograd or autocast has something to do inside.
#include <exception>
#include <utility>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "normalize/tracer/composites.h"
#include "normalize/tracer/trace.h"
#include "normalize/tracer/trace_key.h"

namespace triptych::normalize {

namespace functional = at::functionalization::impl;

namespace {

template <class Function>
void change_tensors(c10::IValue& value, Function change) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) value = change(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(change(tensor));
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      list.push_back(tensor && tensor->defined() ? std::optional(change(*tensor)) : tensor);
    value = std::move(list);
  }
}

at::Tensor wrap(const at::Tensor& fake) {
  c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
  at::AutoDispatchBelowAutograd no_autograd;
  return functional::to_functional_tensor(fake);
}

// The arguments of a composite op as the tracer sees them.
struct Arguments {
  torch::jit::Stack values;  // functionalization's wrappers taken off
  bool wrapped = false;
  bool traced = false;
  bool plain = true;  // nothing but traced and ordinary tensors, none with a gradient to keep

  explicit Arguments(c10::ArrayRef<c10::IValue> args) : values(args.begin(), args.end()) {
    for (c10::IValue& value : values) {
      change_tensors(value, [&](const at::Tensor& tensor) { return taken_off(tensor); });
    }
  }

 private:
  at::Tensor taken_off(const at::Tensor& tensor) {
    plain &= !(at::GradMode::is_enabled() && tensor.requires_grad());
    if (functional::isFunctionalTensor(tensor)) {
      functional::sync(tensor);
      const at::Tensor inner = functional::from_functional_tensor(tensor);
      wrapped = true;
      traced |= as_fake(inner) != nullptr;
      plain &= as_fake(inner) != nullptr;
      return inner;
    }
    traced |= as_fake(tensor) != nullptr;
    plain &= !tensor.unsafeGetTensorImpl()->key_set().has_any(
        c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::FuncTorchBatched,
                             c10::DispatchKey::FuncTorchGradWrapper}));
    return tensor;
  }
};

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() &&
         a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

ResultMeta meta_of(const at::Tensor& fake) {
  ResultMeta meta;
  meta.sizes.assign(fake.sym_sizes().begin(), fake.sym_sizes().end());
  meta.strides.assign(fake.sym_strides().begin(), fake.sym_strides().end());
  meta.storage_offset = fake.sym_storage_offset();
  meta.dtype = fake.scalar_type();
  meta.device = fake.device();
  return meta;
}

}  // namespace

class Trace::Unrecorded {
 public:
  explicit Unrecorded(Trace& trace)
      : trace_(trace),
        recording_(std::exchange(trace.recording_, false)),
        announced_(std::exchange(trace.announced_, std::nullopt)) {}
  ~Unrecorded() {
    trace_.recording_ = recording_;
    trace_.announced_ = std::move(announced_);
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  Trace& trace_;
  bool recording_;
  std::optional<ExpectedLayout> announced_;
};

bool Trace::keep_composite(OpEntry& op, torch::jit::Stack* stack) {
  if (!keep_.contains(op.name) || op.mutates || op.is_view || !op.returns_tensors ||
      autocast_is_on())
    return false;
  const std::size_t base = stack->size() - op.arg_kinds.size();
  Arguments arguments(c10::ArrayRef<c10::IValue>(*stack).slice(base));
  Results results;
  if (!arguments.traced || !arguments.plain ||
      !describe_results(op, c10::DispatchKey::CompositeImplicitAutograd, arguments.values,
                        arguments.wrapped, results))
    return false;
  kept_targets_.insert(op.target);
  torch::jit::Stack inner = arguments.values;
  finish_node(op, arguments.values, results, &inner);
  stack->resize(base);
  for (c10::IValue& value : inner) {
    if (arguments.wrapped) change_tensors(value, wrap);
    stack->push_back(std::move(value));
  }
  return true;
}

// What a library registers at the Meta key to say what its op gives, run on our fakes: it computes
// with symbolic sizes, as in eager with plain ones. False where it does not get through, or gives
// what is not made by ops.
bool Trace::run_library_meta(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results) {
  if (op.aten || op.mutates || op.is_view || !op.returns_tensors ||
      !op.handle.hasKernelForDispatchKey(c10::DispatchKey::Meta))
    return false;
  const Arguments arguments(args);
  if (!arguments.traced || !arguments.plain) return false;
  try {
    if (!describe_results(op, c10::DispatchKey::Meta, args, /*wrapped=*/false, results)) {
      results = {};
      return false;
    }
  } catch (const std::exception&) {  // raised again by who runs it on plain sizes
    results = {};
    return false;
  }
  return true;
}

// By what the op does at `key`, without recording. False where it returns or writes an argument.
bool Trace::describe_results(OpEntry& op, c10::DispatchKey key, c10::ArrayRef<c10::IValue> args,
                             bool wrapped, Results& results) {
  std::vector<std::pair<at::Tensor, at::Tensor>> given;  // what the op gets, the fake in it
  torch::jit::Stack trial(args.begin(), args.end());
  for (c10::IValue& value : trial) {
    change_tensors(value, [&](const at::Tensor& tensor) {
      const at::Tensor passed = wrapped && as_fake(tensor) != nullptr ? wrap(tensor) : tensor;
      given.emplace_back(passed, tensor);
      return passed;
    });
  }
  {
    const Unrecorded silence(*this);
    if (op.decomposition != nullptr) {
      op.decomposition->callBoxed(op.handle, c10::DispatchKeySet(), &trial);
    } else {
      op.handle.callBoxedForDispatchKey(key, trial);
    }
  }
  const auto inner = [](const at::Tensor& tensor) {
    if (!functional::isFunctionalTensor(tensor)) return tensor;
    functional::sync(tensor);
    return functional::from_functional_tensor(tensor);
  };
  for (const auto& [passed, fake] : given) {
    if (!inner(passed).is_same(fake)) return false;
  }
  bool fresh = true;
  std::vector<at::Tensor> seen;
  const auto add = [&](const at::Tensor& result) {
    const at::Tensor fake = inner(result);
    fresh &= as_fake(fake) != nullptr;
    for (const auto& [passed, argument] : given) fresh &= !share_memory(fake, argument);
    for (const at::Tensor& other : seen) fresh &= !share_memory(fake, other);
    if (fresh) results.metas.push_back(meta_of(fake));
    seen.push_back(fake);
  };
  for (const c10::IValue& value : trial) {
    results.is_list.push_back(value.isTensorList());
    if (value.isTensorList()) {
      const std::vector<at::Tensor> list = value.toTensorVector();
      results.counts.push_back(static_cast<int>(list.size()));
      for (const at::Tensor& tensor : list) add(tensor);
    } else {
      if (!value.isTensor() || !value.toTensor().defined()) return false;
      results.counts.push_back(1);
      add(value.toTensor());
    }
  }
  return fresh;
}

}  // namespace triptych::normalize
