#include "normalize/tracer/batch_norm.h"

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

void functionalize(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
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

}  // namespace

void register_batch_norm_functionalization() {
  // Stays for the life of the process: the handle is never destroyed.
  static auto* handle = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerImpl(
      c10::OperatorName("aten::native_batch_norm", ""), c10::DispatchKey::Functionalize,
      c10::KernelFunction::makeFromBoxedFunction<&functionalize>(), std::nullopt, nullptr,
      "triptych batch norm"));
  static_cast<void>(handle);
}

}  // namespace triptych::normalize
