#include "python_kernel.h"

#include <ATen/ops/from_blob.h>

#include "python_bridge/tensors/tensor_conversion.h"
#include "torch_types/torch_types.h"

namespace nb = nanobind;

namespace triptych::bindings {

namespace {

class PythonKernel : public runtime::KernelCallable {
 public:
  PythonKernel(const loops::Kernel& kernel, nb::object launcher, nb::object compiled)
      : kernel_(kernel), launcher_(std::move(launcher)), compiled_(std::move(compiled)) {}

  ~PythonKernel() override {
    const nb::gil_scoped_acquire gil;
    launcher_.reset();
    compiled_.reset();
  }

  void call(void* const* buffers, const std::int64_t* symbols) const override {
    const nb::gil_scoped_acquire gil;
    nb::list tensors;
    std::size_t i = 0;
    for (const loops::Buffer& buffer : kernel_.buffers) {
      if (buffer.kind == loops::Buffer::Kind::kLocal) continue;
      tensors.append(nb::steal(wrap_tensor(at::from_blob(
          buffers[i++], {extent(buffer, symbols)}, at::TensorOptions(to_torch(buffer.dtype))))));
    }
    nb::list values;
    for (std::size_t s = 0; s < kernel_.symbols.size(); ++s) values.append(symbols[s]);
    launcher_(kernel_, compiled_, tensors, values);
  }

 private:
  std::int64_t extent(const loops::Buffer& buffer, const std::int64_t* symbols) const {
    const auto value = buffer.extent.evaluate([&](ir::Symbol name) -> std::optional<std::int64_t> {
      for (std::size_t s = 0; s < kernel_.symbols.size(); ++s) {
        if (kernel_.symbols[s] == name) return symbols[s];
      }
      return std::nullopt;
    });
    TRIPTYCH_CHECK(value.has_value(), "extent of buffer " + buffer.name);
    return *value;
  }

  loops::Kernel kernel_;
  nb::object launcher_;
  nb::object compiled_;
};

}  // namespace

std::shared_ptr<const runtime::KernelCallable> make_python_kernel(const loops::Kernel& kernel,
                                                                  nb::object launcher,
                                                                  nb::object compiled) {
  return std::make_shared<PythonKernel>(kernel, std::move(launcher), std::move(compiled));
}

}  // namespace triptych::bindings
