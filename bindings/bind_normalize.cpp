// Stage 2: traces a Python callable into a normalized graph.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "graph_objects.h"
#include "normalize/normalize.h"
#include "python_bridge/python_runner.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

ir::Input::Kind input_kind(const std::string& kind) {
  if (kind == "parameter") return ir::Input::Kind::kParameter;
  if (kind == "buffer") return ir::Input::Kind::kBuffer;
  return ir::Input::Kind::kUser;
}

// One input as (name, kind, example, [(dimension, symbol)]).
normalize::ProgramInput program_input(nb::handle item) {
  normalize::ProgramInput input;
  input.name = nb::cast<std::string>(item[0]);
  input.kind = input_kind(nb::cast<std::string>(item[1]));
  input.example = python_bridge::from_python(nb::object(item[2]).ptr());
  input.symbols = nb::cast<std::vector<std::pair<std::int64_t, std::string>>>(item[3]);
  return input;
}

nb::dict describe(const normalize::NormalizeReport& report) {
  nb::dict out;
  out["recorded"] = report.counters.recorded;
  out["by_rule"] = report.counters.by_rule;
  out["python_meta"] = report.counters.python_meta_ops;
  out["python_decompositions"] = report.counters.python_decomposed_ops;
  out["specialized_sizes"] = report.specialized_sizes;
  return out;
}

PyObject* or_null(nb::handle object) { return object.is_none() ? nullptr : object.ptr(); }

nb::tuple trace(nb::callable function, nb::list inputs, const std::string& name,
                const std::set<std::string>& keep, nb::object caller_table,
                nb::object default_table, nb::object resolve, nb::object position,
                nb::object is_library_file) {
  normalize::NormalizeRequest request;
  request.name = name;
  request.keep = keep;
  for (nb::handle item : inputs) request.inputs.push_back(program_input(item));
  python_bridge::PythonProgram program;
  program.function = function.ptr();
  program.caller_table = or_null(caller_table);
  program.default_table = or_null(default_table);
  program.resolve = or_null(resolve);
  program.position = or_null(position);
  program.is_library_file = or_null(is_library_file);
  python_bridge::PythonRunner runner(program);
  normalize::NormalizeReport report;
  try {
    auto graph =
        std::make_shared<ir::Graph>(unwrap(normalize::normalize(request, runner, &report)));
    return nb::make_tuple(graph, describe(report));
  } catch (const python_bridge::PythonErrorSet&) {
    throw nb::python_error();
  }
}

}  // namespace

void bind_normalize(nb::module_& module) {
  python_bridge::bind_symbolic_numbers(module.ptr());
  module.def("trace", &trace, nb::arg("function"), nb::arg("inputs"), nb::arg("name") = "graph",
             nb::arg("keep") = std::set<std::string>(), nb::arg("caller_table") = nb::none(),
             nb::arg("default_table") = nb::none(), nb::arg("resolve") = nb::none(),
             nb::arg("position") = nb::none(), nb::arg("is_library_file") = nb::none(),
             "Traces function(*inputs), which returns a flat sequence; inputs are (name, kind, "
             "example, symbols). "
             "Returns the graph and a report.");
}

}  // namespace triptych::bindings
