// A writer from outside the core, given as a Python function.
#pragma once

#include <nanobind/nanobind.h>

#include "codegen/writers/writer.h"

namespace triptych::bindings {

// write(kernels, traits) returns the text, or (text, names of the kernels' functions in it).
class PythonWriter : public writers::Writer {
 public:
  PythonWriter(std::string language, nanobind::object write)
      : language_(std::move(language)), write_(std::move(write)) {}
  std::string language() const override { return language_; }
  Result<writers::Module> write(const std::vector<loops::Kernel>& kernels,
                                const mapping::Traits& traits) const override;

 private:
  std::string language_;
  nanobind::object write_;
};

}  // namespace triptych::bindings
