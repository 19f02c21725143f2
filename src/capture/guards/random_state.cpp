#include "capture/guards/random_state.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/core/Generator.h>

#include "python_bridge/tensors/tensor_conversion.h"

namespace triptych::capture {

Owned read_random_state() {
  at::Generator generator = at::globalContext().defaultGenerator(c10::kCPU);
  at::Tensor state;
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    state = generator.get_state();
  }
  return Owned::steal(wrap_tensor(std::move(state)));
}

void write_random_state(PyObject* state) {
  at::Generator generator = at::globalContext().defaultGenerator(c10::kCPU);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(unchecked_tensor(state));
}

}  // namespace triptych::capture
