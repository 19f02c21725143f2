// Stage 3: the pipeline and its forms.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "codegen/codegen.h"
#include "codegen/loops/loop_program_text.h"
#include "codegen/plan/memory_report.h"
#include "codegen/plan/program_text.h"
#include "constant_bytes.h"
#include "runtime/fold_constants.h"
#include "typed_argument.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace triptych::bindings {

namespace {

using codegen::Form;
using codegen::Generated;
using codegen::Options;
using codegen::Target;
using loops::LoopProgram;
using plan::Program;

Form form_of(const std::string& name) {
  if (name == "lowered") return Form::kLowered;
  if (name == "fused") return Form::kFused;
  TRIPTYCH_CHECK(name == "mapped", "a form called " + name);
  return Form::kMapped;
}

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

std::size_t num_launches(const Program& program) {
  std::size_t count = 0;
  for (const plan::Step& step : program.steps)
    count += std::holds_alternative<plan::LaunchStep>(step);
  return count;
}

std::vector<std::string> texts(const std::vector<Error>& errors) {
  std::vector<std::string> out;
  for (const Error& error : errors) out.push_back(error.describe());
  return out;
}

// With the bytes of all constants, which folding keeps as tensors.
LoopProgram whole(LoopProgram program) {
  runtime::add_constant_bytes(program.graph.constants());
  return program;
}
Program whole(Program program) {
  runtime::add_constant_bytes(program.constants);
  return program;
}

void bind_loop_program(nb::module_& module) {
  nb::class_<LoopProgram>(module, "LoopProgram", "Kernels, external calls and views, in order.")
      .def_static(
          "parse",
          [](nb::handle text, nb::handle constants) {
            return unwrap(loops::parse_loop_program(
                text_argument(text, "LoopProgram.parse: text"),
                constants_argument(constants, "LoopProgram.parse: constants")));
          },
          "text"_a, "constants"_a = NamedBytes())
      .def_prop_ro("constants",
                   [](const LoopProgram& self) { return named_bytes(self.graph.constants()); })
      .def_prop_ro("items", &loops::print_items, "The text without the graph.")
      .def("verify", [](const LoopProgram& self) { return texts(loops::verify(self)); })
      .def("__str__", [](const LoopProgram& self) { return loops::print(self); })
      .def(
          "__eq__",
          [](const LoopProgram& a, const LoopProgram& b) {
            return loops::equal(whole(a), whole(b));
          },
          nb::is_operator())
      .def("__hash__", [](const LoopProgram& self) { return std::hash<const void*>()(&self); });
}

void bind_program(nb::module_& module) {
  nb::class_<Program>(module, "Plan", "Slots, memory plan and steps.")
      .def_static(
          "parse",
          [](nb::handle text, nb::handle constants) {
            return unwrap(
                plan::parse_program(text_argument(text, "Plan.parse: text"),
                                    constants_argument(constants, "Plan.parse: constants")));
          },
          "text"_a, "constants"_a = NamedBytes())
      .def_prop_ro("kernels", [](const Program& p) { return p.kernels; })
      .def_prop_ro("num_launches", &num_launches)
      .def_prop_ro("num_steps", [](const Program& p) { return p.steps.size(); })
      .def_prop_ro("arena_bytes", [](const Program& p) { return p.arena_bytes.str(); })
      .def_prop_ro("bytes_without_reuse",
                   [](const Program& p) { return p.bytes_without_reuse.str(); })
      .def_prop_ro("memory_plan", &plan::memory_report)
      .def_prop_ro("has_symbols", [](const Program& p) { return !p.symbol_sources.empty(); })
      .def_prop_ro("has_guards",
                   [](const Program& p) { return !p.symbol_sources.empty() || !p.guards.empty(); })
      .def_prop_ro("mutates", [](const Program& p) { return !p.mutations.empty(); })
      .def_prop_ro("constants", [](const Program& p) { return named_bytes(p.constants); })
      .def_prop_ro("steps", &plan::print_steps, "The text without the kernels' bodies.")
      .def("verify", [](const Program& self) { return texts(plan::verify(self)); })
      .def("__str__", [](const Program& p) { return plan::print(p); })
      .def(
          "__eq__",
          [](const Program& a, const Program& b) { return plan::equal(whole(a), whole(b)); },
          nb::is_operator())
      .def("__hash__", [](const Program& self) { return std::hash<const void*>()(&self); });
}

void bind_options(nb::module_& module) {
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
}

void bind_generated(nb::module_& module) {
  nb::class_<Generated>(module, "GeneratedCode")
      .def_prop_ro(
          "program", [](Generated& self) -> Program& { return self.program; },
          nb::rv_policy::reference_internal)
      .def_prop_ro("language", [](const Generated& self) { return self.module.language; })
      .def_prop_rw(
          "text", [](const Generated& self) { return self.module.text; },
          [](Generated& self, std::string text) { self.module.text = std::move(text); })
      .def_prop_ro("entries", [](const Generated& self) { return self.module.entries; })
      .def_prop_ro("symbols_needed", [](const Generated& self) { return self.module.externals; })
      .def_prop_ro("times", &times_of)
      .def_prop_ro("externals", &externals_of);
}

void bind_stages(nb::module_& module) {
  module.def(
      "generate",
      [](const ir::Graph& graph, const Target& target, const Options& options) {
        return unwrap(codegen::generate(graph, target, options));
      },
      "graph"_a, "target"_a, "options"_a);
  module.def(
      "generate_from_loops",
      [](const LoopProgram& program, const std::string& form, const Target& target,
         const Options& options) {
        return unwrap(codegen::generate_from(program, form_of(form), target, options));
      },
      "program"_a, "form"_a, "target"_a, "options"_a, "Goes on behind the named form.");
  module.def(
      "generate_from_plan",
      [](const Program& program, const Target& target) {
        return unwrap(codegen::generate_from(program, target));
      },
      "program"_a, "target"_a);
  module.def(
      "intermediate_form",
      [](const ir::Graph& graph, const std::string& form, const Target& target,
         const Options& options) {
        return unwrap(codegen::intermediate_form(graph, form_of(form), target, options));
      },
      "graph"_a, "form"_a, "target"_a, "options"_a);
  module.def(
      "advance",
      [](const LoopProgram& program, const std::string& from, const std::string& to,
         const Target& target, const Options& options) {
        return unwrap(codegen::advance(program, form_of(from), form_of(to), target, options));
      },
      "program"_a, "from_form"_a, "to_form"_a, "target"_a, "options"_a);
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  bind_loop_program(module);
  bind_program(module);
  bind_options(module);
  bind_generated(module);
  bind_stages(module);
}

}  // namespace triptych::bindings
