// Kernels that a device's Python launcher runs.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "codegen/loops/kernel.h"
#include "runtime/layout.h"

namespace triptych::bindings {

// A launch calls launcher(kernel, compiled, buffers, symbols): the mapped kernel, what the
// toolchain made of it, a 1-d tensor over each buffer's extent, and the values of the kernel's
// symbols.
std::shared_ptr<const runtime::KernelCallable> make_python_kernel(const loops::Kernel& kernel,
                                                                  nanobind::object launcher,
                                                                  nanobind::object compiled);

}  // namespace triptych::bindings
