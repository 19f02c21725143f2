#include "normalize/tracer/eager_trial.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"

namespace triptych::normalize {
namespace {

constexpr std::int64_t kSize = 2;  // even for glu, above one for var, equal for matrix products

// What stands for the integers of a list that says sizes; nullopt for other lists.
std::optional<std::int64_t> size_in_list(const std::string& name) {
  if (name == "pad") return 1;
  const bool sizes = name == "size" || name == "output_size" || name == "normalized_shape";
  return sizes ? std::optional(kSize) : std::nullopt;
}

bool is_integer_list(const c10::IValue& value) { return value.isIntList() || value.isSymIntList(); }

// Whether a tensor's dtype and rank are all that eager could object to.
bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_quantized() && !tensor.is_conj() &&
         !tensor.is_neg() && (tensor.is_cpu() || tensor.is_meta());
}

// What is tried, as bytes: the op, and of each argument what its small form is made from.
class Description {
 public:
  Description(const OpEntry& op, const SymbolicShapes& shapes, std::string& bytes)
      : shapes_(shapes), bytes_(bytes) {
    bytes_.clear();
    put(op.index);
  }

  // False: the argument has no small form.
  bool add(const std::string& name, const c10::IValue& value) {
    if (value.isTensor()) return add_tensor(value.toTensor());
    if (value.isNone()) return mark('-');
    if (value.isDevice()) return value.toDevice().is_cpu() && mark('-');
    if (is_integer_list(value) && size_in_list(name)) {
      put(value.toListRef().size());
      return mark('s');
    }
    if (value.isList()) return add_list(value);
    if (value.isString()) {
      bytes_.append(value.toStringRef());
      return mark('\0');
    }
    return add_number(value);
  }

 private:
  template <class T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  bool mark(char kind) {
    bytes_.push_back(kind);
    return true;
  }

  template <class T>
  bool number(char kind, const T& value) {
    put(value);
    return mark(kind);
  }

  bool add_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return mark('-');
    if (!is_plain(tensor)) return false;
    put(tensor.scalar_type());
    put(static_cast<std::uint8_t>(tensor.dim()));
    return mark(tensor.unsafeGetTensorImpl()->is_wrapped_number() ? 'w' : 't');
  }

  bool add_list(const c10::IValue& value) {
    if (value.isOptionalTensorList()) return false;
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        if (!add_tensor(tensor)) return false;
      }
      return mark('.');
    }
    for (const c10::IValue& item : value.toListRef()) {
      if (!add_number(item)) return false;
    }
    return mark('.');
  }

  bool add_number(const c10::IValue& value) {
    if (value.isInt()) return number('i', value.toInt());
    if (value.isDouble()) return number('d', value.toDouble());
    if (value.isBool()) return number('b', value.toBool());
    if (value.isComplexDouble()) return number('c', value.toComplexDouble());
    if (value.isSymInt()) return number('i', shapes_.hint(SymbolicShapes::expr(value.toSymInt())));
    return false;
  }

  const SymbolicShapes& shapes_;
  std::string& bytes_;
};

// Ones, so that nothing divides by zero; where tensors may be positions, zeros.
at::Tensor small_tensor(const OpEntry& op, const at::Tensor& given) {
  if (!given.defined()) return given;
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(given.dim()), kSize);
  const at::ScalarType dtype = given.scalar_type();
  const bool position = !op.pointwise && c10::isIntegralType(dtype, false);
  at::Tensor made = position ? at::zeros(sizes, dtype) : at::ones(sizes, dtype);
  if (given.unsafeGetTensorImpl()->is_wrapped_number())
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
  return made;
}

c10::IValue small_argument(const OpEntry& op, const std::string& name, const c10::IValue& value,
                           const SymbolicShapes& shapes) {
  if (value.isTensor()) return small_tensor(op, value.toTensor());
  if (value.isTensorList()) {
    std::vector<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector())
      list.push_back(small_tensor(op, tensor));
    return list;
  }
  if (value.isSymInt()) return shapes.hint(SymbolicShapes::expr(value.toSymInt()));
  const auto size = size_in_list(name);
  if (!size || !is_integer_list(value)) return value;
  return std::vector<std::int64_t>(value.toListRef().size(), *size);
}

// No autograd, no autocast, no tracing: only kernels.
struct EagerOnly {
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  c10::impl::ExcludeDispatchKeyGuard below{keys_above_tracing() | c10::autocast_dispatch_keyset};
};

torch::jit::Stack small_arguments(const OpEntry& op, c10::ArrayRef<c10::IValue> args,
                                  const SymbolicShapes& shapes) {
  torch::jit::Stack stack;
  for (std::size_t i = 0; i < args.size(); ++i)
    stack.push_back(small_argument(op, op.handle.schema().arguments()[i].name(), args[i], shapes));
  return stack;
}

void run_small(const OpEntry& op, c10::ArrayRef<c10::IValue> args, const SymbolicShapes& shapes) {
  const EagerOnly only;
  torch::jit::Stack stack = small_arguments(op, args, shapes);
  op.handle.callBoxed(&stack);
}

// Results of the functional form, and the like in the dtypes of the tensors to write; empty where
// it has none.
struct SmallResults {
  torch::jit::Stack written;
  bool converted = false;  // a dtype to write is not the result's
};

SmallResults small_results(const OpEntry& functional, torch::jit::Stack stack,
                           c10::ArrayRef<c10::IValue> written) {
  try {
    functional.handle.callBoxed(&stack);
  } catch (const std::exception&) {
    return {};
  }
  if (stack.size() != written.size()) return {};
  SmallResults results;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (!stack[i].isTensor() || !written[i].isTensor()) return {};
    const at::Tensor& result = stack[i].toTensor();
    const at::ScalarType dtype = written[i].toTensor().scalar_type();
    results.converted |= result.scalar_type() != dtype;
    results.written.emplace_back(at::empty(result.sizes(), dtype));
  }
  return results;
}

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
  thread_local std::string key;
  Description description(op, shapes, key);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!description.add(op.handle.schema().arguments()[i].name(), args[i])) return;
  }
  if (accepted().contains(key)) return;
  const std::string tried = key;  // the kernel may come back here
  run_small(op, args, shapes);
  accepted().add(tried);
}

void try_out_in_eager(const OpEntry& op, const OpEntry& functional, c10::ArrayRef<c10::IValue> args,
                      const SymbolicShapes& shapes) {
  if (functional.random) return;
  std::string key;
  Description description(op, shapes, key);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!description.add(op.handle.schema().arguments()[i].name(), args[i])) return;
  }
  if (accepted().contains(key)) return;
  const EagerOnly only;
  const std::size_t given = functional.arg_kinds.size();
  torch::jit::Stack stack = small_arguments(functional, args.slice(0, given), shapes);
  const SmallResults results = small_results(functional, stack, args.slice(given));
  if (results.written.empty()) return;
  stack.insert(stack.end(), results.written.begin(), results.written.end());
  op.handle.callBoxed(&stack);
  // A pointwise op converts its result; others may compute in the dtype that they write.
  if (results.converted && !functional.pointwise)
    throw Unsupported(
        unsupported("normalize.out_dtype", op.name + " writes another dtype than the result has"));
  accepted().add(key);
}

}  // namespace triptych::normalize
