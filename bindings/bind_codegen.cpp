// Stage 3: traits, kernels, writers.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "codegen/loops/interpreter.h"
#include "codegen/loops/kernel_equal.h"
#include "codegen/mapping/host_traits.h"
#include "codegen/writers/cpp/cpp_writer.h"
#include "codegen/writers/llvm/llvm_writer.h"
#include "python_writer.h"
#include "runtime/fold_constants.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace triptych::bindings {

namespace {

// Runs one kernel by the reference interpreter over raw addresses; raises its error as
// RuntimeError.
std::int32_t interpret(const loops::Kernel& kernel, const std::vector<std::uintptr_t>& buffers,
                       const std::vector<std::int64_t>& symbols) {
  std::vector<void*> pointers;
  for (const std::uintptr_t address : buffers) pointers.push_back(reinterpret_cast<void*>(address));
  std::int32_t error = 0;
  unwrap(loops::interpret(kernel, pointers, symbols, error));
  return error;
}

void bind_traits(nb::module_& module) {
  using mapping::Traits;
  nb::class_<Traits>(module, "Traits", "What mapping and fusion may know about a machine.")
      .def(nb::init<>())
      .def("copy", [](const Traits& self) { return Traits(self); })
      .def_rw("vector_bytes", &Traits::vector_bytes)
      .def_rw("vector_registers", &Traits::vector_registers)
      .def_rw("masked_memory", &Traits::masked_memory)
      .def_rw("bf16_convert", &Traits::bf16_convert)
      .def_rw("fma", &Traits::fma)
      .def_rw("l1_bytes", &Traits::l1_bytes)
      .def_rw("l2_bytes", &Traits::l2_bytes)
      .def_rw("streaming_store_bytes", &Traits::streaming_store_bytes)
      .def_rw("cpu", &Traits::cpu)
      .def_rw("features", &Traits::features);
  module.def("host_traits", &mapping::host_traits);
}

void bind_kernels(nb::module_& module) {
  nb::class_<loops::Kernel>(module, "Kernel", "One kernel: buffers and a tree of loops.")
      .def_ro("name", &loops::Kernel::name)
      .def_ro("origins", &loops::Kernel::origins)
      .def("interpret", &interpret, "buffers"_a, "symbols"_a,
           "Runs the kernel slowly over raw addresses; returns its error word.")
      .def("verify",
           [](const loops::Kernel& kernel) {
             std::vector<std::string> out;
             for (const Error& error : loops::verify_kernel(kernel))
               out.push_back(error.describe());
             return out;
           })
      .def("__str__", [](const loops::Kernel& kernel) { return loops::print(kernel); })
      .def(
          "__eq__",
          [](const loops::Kernel& a, const loops::Kernel& b) { return loops::equal(a, b); },
          nb::is_operator())
      .def("__hash__", [](const loops::Kernel& self) { return std::hash<const void*>()(&self); });
  module.def("parse_kernel",
             [](const std::string& text) { return unwrap(loops::parse_kernel(text)); });
}

void bind_writer_types(nb::module_& module) {
  using writers::Writer;
  nb::class_<Writer>(module, "Writer", "Prints mapped kernels in one language.")
      .def_prop_ro("language", &Writer::language);
  nb::class_<writers::LlvmWriter, Writer>(module, "LlvmWriter").def(nb::init<>());
  nb::class_<writers::CppWriter, Writer>(module, "CppWriter").def(nb::init<>());
  nb::class_<PythonWriter, Writer>(module, "PythonWriter", "A writer given as a Python function.")
      .def(nb::init<std::string, nb::object>(), "language"_a, "write"_a);
}

}  // namespace

void bind_codegen(nb::module_& module) {
  bind_traits(module);
  bind_kernels(module);
  bind_writer_types(module);
}

}  // namespace triptych::bindings
