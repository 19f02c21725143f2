#include "python_writer.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace triptych::bindings {

Result<writers::Module> PythonWriter::write(const std::vector<loops::Kernel>& kernels,
                                            const mapping::Traits& traits) const {
  const nb::gil_scoped_acquire gil;
  nb::object written = write_(kernels, traits);  // a Python error passes through as an exception
  writers::Module module;
  module.language = language_;
  if (nb::isinstance<nb::tuple>(written)) {
    module.text = nb::cast<std::string>(written[0]);
    module.entries = nb::cast<std::vector<std::string>>(written[1]);
  } else {
    module.text = nb::cast<std::string>(written);
    for (const loops::Kernel& kernel : kernels) module.entries.push_back(kernel.name);
  }
  if (module.entries.size() != kernels.size()) {
    return user_error("writer.entries", "writer " + language_ + ": found " +
                                            std::to_string(module.entries.size()) +
                                            " entries, expected " + std::to_string(kernels.size()));
  }
  return module;
}

}  // namespace triptych::bindings
