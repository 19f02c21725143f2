#include "normalize/tracer/composites.h"

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace triptych::normalize {

namespace {

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
constexpr std::size_t kArguments = 8;
constexpr std::size_t kRunningMean = 3;
constexpr std::size_t kTraining = 5;

void call(const char* name, const char* overload, torch::jit::Stack* stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).callBoxed(stack);
}

void functionalize_batch_norm(const c10::OperatorHandle&, c10::DispatchKeySet,
                              torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - kArguments;
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

template <void (*kKernel)(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*)>
void register_kernel(const char* name, const char* overload, c10::DispatchKey key) {
  // Stays for the life of the process: the handle is never destroyed.
  auto* handle = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerImpl(
      c10::OperatorName(name, overload), key, c10::KernelFunction::makeFromBoxedFunction<kKernel>(),
      std::nullopt, nullptr, "triptych composites"));
  static_cast<void>(handle);
}

}  // namespace

void register_composites() {
  register_kernel<&functionalize_batch_norm>("aten::native_batch_norm", "",
                                             c10::DispatchKey::Functionalize);
}

}  // namespace triptych::normalize
