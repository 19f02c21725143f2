// Ops that write into arguments without their schema saying so, which functionalization therefore
// lets through as they are: batch norm and its running statistics.
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/_native_batch_norm_legit_no_training.h>

#include "normalize/tracer/trace.h"
#include "normalize/unsupported.h"

namespace triptych::normalize {

// What functionalization does after an in-place op: the wrapper shows the new value, and its memory
// is told.
void Trace::write_through(const at::Tensor& fake, const at::Tensor& contents) {
  namespace functional = at::functionalization::impl;
  for (const at::Tensor& wrapper : input_wrappers_) {
    if (!functional::unsafeGetFunctionalWrapper(wrapper)->value().is_same(fake)) continue;
    functional::replace_(wrapper, contents);
    functional::commit_update(wrapper);
    functional::sync(wrapper);
    return;
  }
  throw Unsupported(unsupported("normalize.batch_norm_statistics",
                                "running statistics that are no input of the program"));
}

// native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
void Trace::run_batch_norm(torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - 8;
  const auto optional = [&](std::size_t i) {
    const c10::IValue& value = (*stack)[base + i];
    return value.isTensor() && value.toTensor().defined() ? std::optional(value.toTensor())
                                                          : std::nullopt;
  };
  const at::Tensor input = (*stack)[base].toTensor();
  const auto weight = optional(1);
  const auto bias = optional(2);
  const auto mean = optional(3);
  const auto variance = optional(4);
  const bool training = (*stack)[base + 5].toBool();
  const double momentum = (*stack)[base + 6].toDouble();
  const double eps = (*stack)[base + 7].toDouble();
  std::tuple<at::Tensor, at::Tensor, at::Tensor> results;
  if (!mean) {
    results = at::_native_batch_norm_legit(input, weight, bias, training, momentum, eps);
  } else if (!training) {
    results = at::_native_batch_norm_legit_no_training(input, weight, bias, *mean, *variance,
                                                       momentum, eps);
  } else {
    // It has no C++ entry of its own.
    static const c10::OperatorHandle functional = c10::Dispatcher::singleton().findSchemaOrThrow(
        "aten::_native_batch_norm_legit_functional", "");
    torch::jit::Stack inner(stack->begin() + base, stack->end());
    functional.callBoxed(&inner);
    results = {inner[0].toTensor(), inner[1].toTensor(), inner[2].toTensor()};
    write_through(*mean, inner[3].toTensor());
    write_through(*variance, inner[4].toTensor());
  }
  stack->resize(base);
  stack->emplace_back(std::get<0>(results));
  stack->emplace_back(std::get<1>(results));
  stack->emplace_back(std::get<2>(results));
}

}  // namespace triptych::normalize
