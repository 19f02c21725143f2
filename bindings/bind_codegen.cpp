// Stage 3: traits, kernels, writers, the pipeline.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "codegen/codegen.h"
#include "codegen/loops/interpreter.h"
#include "codegen/mapping/host_traits.h"
#include "codegen/plan/memory_report.h"
#include "codegen/writers/cpp/cpp_writer.h"
#include "codegen/writers/llvm/llvm_writer.h"
#include "python_writer.h"
#include "runtime/fold_constants.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace triptych::bindings {

namespace {

using codegen::Form;
using codegen::Generated;
using codegen::Options;
using codegen::Target;

std::vector<std::pair<std::string, double>> times_of(const Generated& generated) {
  std::vector<std::pair<std::string, double>> times;
  for (const auto& time : generated.times) times.emplace_back(time.name, time.milliseconds);
  return times;
}

std::vector<std::pair<std::string, std::string>> externals_of(const Generated& generated) {
  std::vector<std::pair<std::string, std::string>> externals;
  for (const auto& external : generated.externals)
    externals.emplace_back(external.node, external.reason);
  return externals;
}

std::size_t num_launches(const plan::Program& program) {
  std::size_t count = 0;
  for (const plan::Step& step : program.steps)
    count += std::holds_alternative<plan::LaunchStep>(step);
  return count;
}

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
      .def("__str__", [](const loops::Kernel& kernel) { return loops::print(kernel); });
  module.def("parse_kernel",
             [](const std::string& text) { return unwrap(loops::parse_kernel(text)); });
  nb::class_<plan::Program>(module, "Plan", "Slots, memory plan and steps.")
      .def_prop_ro("kernels", [](const plan::Program& p) { return p.kernels; })
      .def_prop_ro("num_launches", &num_launches)
      .def_prop_ro("num_steps", [](const plan::Program& p) { return p.steps.size(); })
      .def_prop_ro("arena_bytes", [](const plan::Program& p) { return p.arena_bytes.str(); })
      .def_prop_ro("bytes_without_reuse",
                   [](const plan::Program& p) { return p.bytes_without_reuse.str(); })
      .def_prop_ro("memory_plan", &plan::memory_report)
      .def_prop_ro("has_symbols", [](const plan::Program& p) { return !p.symbol_sources.empty(); })
      .def_prop_ro(
          "has_guards",
          [](const plan::Program& p) { return !p.symbol_sources.empty() || !p.guards.empty(); })
      .def_prop_ro("mutates", [](const plan::Program& p) { return !p.mutations.empty(); })
      .def("__str__", [](const plan::Program& p) { return plan::print(p); });
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

void bind_pipeline(nb::module_& module) {
  nb::class_<loops::LoweringRegistry>(module, "LoweringRegistry")
      .def(nb::init<>())
      .def("add_expression",
           [](loops::LoweringRegistry& self, std::string name, const std::string& expression) {
             unwrap(self.add_expression(std::move(name), expression));
           });
  nb::class_<Target>(module, "Target", "What the pipeline must know of a device.")
      .def(
          "__init__",
          [](Target* self, std::string name, const mapping::Traits& traits,
             const writers::Writer* writer) { new (self) Target{std::move(name), traits, writer}; },
          "name"_a, "traits"_a, "writer"_a, nb::keep_alive<1, 4>());
  nb::class_<Options>(module, "CodegenOptions")
      .def(
          "__init__",
          [](Options* self, bool fuse, bool eager_rounding, bool reuse_memory,
             const loops::LoweringRegistry* lowerings) {
            new (self) Options{fuse, eager_rounding, reuse_memory, {}, runtime::fold_constants};
            self->lower.registry = lowerings;
          },
          "fuse"_a = true, "eager_rounding"_a = false, "reuse_memory"_a = true,
          "lowerings"_a.none() = nb::none(), nb::keep_alive<1, 5>());
  nb::class_<Generated>(module, "GeneratedCode")
      .def_prop_ro(
          "program", [](Generated& self) -> plan::Program& { return self.program; },
          nb::rv_policy::reference_internal)
      .def_prop_ro("language", [](const Generated& self) { return self.module.language; })
      .def_prop_ro("text", [](const Generated& self) { return self.module.text; })
      .def_prop_ro("entries", [](const Generated& self) { return self.module.entries; })
      .def_prop_ro("symbols_needed", [](const Generated& self) { return self.module.externals; })
      .def_prop_ro("times", &times_of)
      .def_prop_ro("externals", &externals_of);
  module.def(
      "generate",
      [](const ir::Graph& graph, const Target& target, const Options& options) {
        return unwrap(codegen::generate(graph, target, options));
      },
      "graph"_a, "target"_a, "options"_a);
  module.def(
      "intermediate_form",
      [](const ir::Graph& graph, const std::string& form, const Target& target,
         const Options& options) {
        const Form which = form == "lowered" ? Form::kLowered
                           : form == "fused" ? Form::kFused
                                             : Form::kMapped;
        return loops::print(unwrap(codegen::intermediate_form(graph, which, target, options)));
      },
      "graph"_a, "form"_a, "target"_a, "options"_a);
}

}  // namespace

void bind_codegen(nb::module_& module) {
  bind_traits(module);
  bind_kernels(module);
  bind_writer_types(module);
  bind_pipeline(module);
}

}  // namespace triptych::bindings
