#include "normalize/tracer/composites.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "normalize/tracer/eager_trial.h"
#include "normalize/tracer/trace.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/tracer/written_memory.h"
#include "normalize/unsupported.h"

namespace triptych::normalize {

namespace {

using Kernel = void(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*);

void go_on(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below(c10::DispatchKeySet::FULL_AFTER, composite_key());
  op.redispatchBoxed(keys & below, stack);
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
constexpr std::size_t kArguments = 8;
constexpr std::size_t kRunningMean = 3;
constexpr std::size_t kTraining = 5;

void call(const char* name, const char* overload, torch::jit::Stack* stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).callBoxed(stack);
}

// `native_batch_norm` writes the running statistics without saying so in its schema. The ops that
// say it take its place, so that the statistics become written inputs of the program.
void declare_statistics(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                        torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - kArguments;
  if (!at::functionalization::impl::isFunctionalTensor((*stack)[base].toTensor()))
    return go_on(op, keys, stack);
  const c10::IValue& mean = (*stack)[base + kRunningMean];
  const bool has_statistics = mean.isTensor() && mean.toTensor().defined();
  if (!(*stack)[base + kTraining].toBool()) {
    stack->erase(stack->begin() + static_cast<std::ptrdiff_t>(base + kTraining));
    call("aten::_native_batch_norm_legit_no_training", "", stack);
  } else if (has_statistics) {
    call("aten::_native_batch_norm_legit", "", stack);
  } else {
    stack->erase(stack->begin() + static_cast<std::ptrdiff_t>(base + kRunningMean),
                 stack->begin() + static_cast<std::ptrdiff_t>(base + kTraining));
    call("aten::_native_batch_norm_legit", "no_stats", stack);
  }
}

// The `.vec` overloads of the upsamplings, which `F.interpolate` calls, are composite kernels over
// plain integers. Sizes may be symbolic: the overloads that they call are called here, with sizes
// by the shape rule. Below functionalization the tracer has them whole (two are core ATen).
void resize(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - op.schema().arguments().size();
  const at::Tensor input = (*stack)[base].toTensor();
  if (!at::functionalization::impl::isFunctionalTensor(input)) {
    if (as_fake(input) == nullptr) return go_on(op, keys, stack);
    Trace::current()->dispatch(op_entry(op), stack);
    return;
  }
  RuleContext context(op.schema(), c10::ArrayRef<c10::IValue>(*stack).slice(base));
  op_entry(op).rule(context);
  const c10::SymDimVector& sizes = context.results().at(0).sizes;
  const c10::IValue factors = stack->back();
  stack->pop_back();
  (*stack)[base + 1] = c10::IValue(c10::SymIntArrayRef(sizes).slice(2));
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i)
    stack->push_back(factors.isNone() ? c10::IValue() : factors.toDoubleVector().at(i));
  call(op.schema().name().c_str(), "", stack);
}

bool is_traced(const c10::IValue& value) {
  return value.isTensor() && (at::functionalization::impl::isFunctionalTensor(value.toTensor()) ||
                              as_fake(value.toTensor()) != nullptr);
}

// Autocast comes first where it is on: its kernel calls the op again.
void take_apart(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  OpEntry& entry = op_entry(op);
  const auto args =
      c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - entry.arg_kinds.size());
  if (autocast_is_on() || std::none_of(args.begin(), args.end(), is_traced))
    return go_on(op, keys, stack);
  entry.decomposition->callBoxed(op, c10::DispatchKeySet(), stack);
}

// By the schema of an op that writes into given memory: the op without `out=` or `_`.
std::unordered_map<const void*, c10::OperatorHandle>& writing_ops() {
  static auto* functional = new std::unordered_map<const void*, c10::OperatorHandle>();
  return *functional;
}

c10::OperatorName operator_name(const std::string& dotted) {
  const std::size_t first = dotted.find('.');
  const std::size_t last = dotted.rfind('.');
  if (first == last) return {dotted, ""};
  const std::string overload = dotted.substr(last + 1);
  return {dotted.substr(0, first) + "::" + dotted.substr(first + 1, last - first - 1),
          overload == "default" ? "" : overload};
}

// Whether `op` takes what `functional` takes, and beyond that only tensors to write.
bool writes_results_of(const c10::OperatorHandle& op, const c10::OperatorHandle& functional) {
  const auto& all = op.schema().arguments();
  const auto& first = functional.schema().arguments();
  if (all.size() < first.size()) return false;
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>(first.size());
  return std::equal(first.begin(), first.end(), all.begin(),
                    [](const c10::Argument& a, const c10::Argument& b) {
                      return a.name() == b.name() && *a.type() == *b.type();
                    }) &&
         std::all_of(rest, all.end(), [](const c10::Argument& argument) {
           return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
         });
}

void check_write(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack* stack) {
  Trace* trace = Trace::current();
  const OpEntry& entry = op_entry(op);
  const auto args =
      c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - entry.arg_kinds.size());
  if (trace == nullptr || std::none_of(args.begin(), args.end(), is_traced))
    return go_on(op, keys, stack);
  check_written_memory(entry, args, *trace);
  const OpEntry& functional = op_entry(writing_ops().at(&op.schema()));
  if (entry.arg_kinds.size() > functional.arg_kinds.size())
    try_out_in_eager(entry, functional, args, *trace->shapes());
  go_on(op, keys, stack);
}

template <Kernel* kKernel>
void unless_kept(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack* stack) {
  Trace* trace = Trace::current();
  if (trace == nullptr) return go_on(op, keys, stack);
  if (!trace->keep_composite(op_entry(op), stack)) kKernel(op, keys, stack);
}

// For the life of the process: the handle is never destroyed.
template <Kernel* kKernel>
void register_kernel(const c10::OperatorName& name) {
  auto* handle = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerImpl(
      name, composite_key(), c10::KernelFunction::makeFromBoxedFunction<kKernel>(), std::nullopt,
      nullptr, "triptych composites"));
  static_cast<void>(handle);
}

// Names that are caught already, by Trace::keep_composite at least.
std::unordered_set<c10::OperatorName>& caught_names() {
  static auto* names = new std::unordered_set<c10::OperatorName>();
  return *names;
}

template <Kernel* kKernel>
void register_own(const c10::OperatorName& name) {
  if (caught_names().insert(name).second) register_kernel<&unless_kept<kKernel>>(name);
}

void catch_write(const c10::OperatorHandle& functional, const c10::OperatorName& name) {
  const auto op = c10::Dispatcher::singleton().findSchema(name);
  if (!op || !op->schema().is_mutable() || !writes_results_of(*op, functional)) return;
  if (writing_ops().emplace(&op->schema(), functional).second) register_kernel<&check_write>(name);
}

// The in-place form of each row, and the out forms that functionalization knows. An out form has
// the arguments of a row, or of a composite op (`softmax.int_out`), which has none.
void catch_writes() {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::unordered_multimap<std::string, c10::OperatorHandle> rows;
  for (const ops::OpInfo& row : ops::all()) {
    const c10::OperatorName name = operator_name(std::string(row.name));
    const auto functional = dispatcher.findSchema(name);
    if (!functional || functional->schema().is_mutable()) continue;
    rows.emplace(name.name, *functional);
    catch_write(*functional, {name.name + "_", name.overload_name});
  }
  constexpr std::string_view kOut = "_out";
  for (const c10::OperatorName& name :
       dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::Functionalize)) {
    const auto [first, last] = rows.equal_range(name.name);
    for (auto row = first; row != last; ++row) catch_write(row->second, name);
    std::string overload = name.overload_name;
    if (!overload.ends_with(kOut)) continue;
    overload.resize(overload.size() - kOut.size());
    const auto functional = dispatcher.findSchema({name.name, overload});
    if (functional &&
        functional->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))
      catch_write(*functional, name);
  }
}

}  // namespace

bool autocast_is_on() {
  const c10::DispatchKeySet off = c10::impl::tls_local_dispatch_key_set().excluded_;
  return !(c10::autocast_dispatch_keyset - off).empty();
}

Status register_composites() {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(composite_key())) {
    return unsupported("normalize.key_taken",
                       "another library has a fallback on the dispatch key for composite ops");
  }
  static auto* rest = new c10::RegistrationHandleRAII(dispatcher.registerFallback(
      composite_key(), c10::KernelFunction::makeFallthrough(), "triptych composites"));
  static_cast<void>(rest);
  register_own<&declare_statistics>(c10::OperatorName("aten::native_batch_norm", ""));
  register_own<&take_apart>(c10::OperatorName("aten::matmul", ""));
  for (const ops::OpInfo& row : ops::all()) {
    if (row.shape_rule == "upsample_vec")
      register_own<&resize>(operator_name(std::string(row.name)));
  }
  catch_writes();
  return Unit{};
}

void catch_composites(const std::set<std::string>& names) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (const std::string& name : names) {
    const auto op = c10::Dispatcher::singleton().findSchema(operator_name(name));
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) continue;
    register_own<&go_on>(op->operator_name());
  }
}

}  // namespace triptych::normalize
