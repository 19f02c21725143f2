// Stage 1: regions, which capture the functions that they stand for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "bindings.h"
#include "capture/interpreter/self_test.h"
#include "capture/region/region.h"
#include "capture_host.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

nb::object make_region(nb::handle function, nb::handle self, nb::object host,
                       std::size_t max_entries, bool strict, bool fullgraph,
                       std::optional<bool> dynamic, nb::object hooked_call,
                       const std::string& without_guards) {
  if (!PyFunction_Check(function.ptr())) throw nb::type_error("a region needs a Python function");
  const bool is_module = !hooked_call.is_none();
  capture::RegionOptions options{max_entries, strict, fullgraph, dynamic, is_module};
  if (!without_guards.empty()) {
    const auto found = std::ranges::find(capture::kGuardNames, without_guards);
    if (found == capture::kGuardNames.end()) throw nb::value_error("no such kind of guard");
    options.without_guards =
        static_cast<std::size_t>(std::distance(capture::kGuardNames.begin(), found));
  }
  auto region = std::make_unique<capture::Region>(
      capture::Owned::copy(function.ptr()),
      self.is_none() ? capture::Owned() : capture::Owned::copy(self.ptr()), options,
      std::make_unique<PythonHost>(std::move(host)));
  if (is_module) region->set_hooked_call(capture::Owned::copy(hooked_call.ptr()));
  PyObject* object = capture::make_region_object(std::move(region));
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

capture::Region& region(nb::handle object) {
  capture::Region* region = capture::region_of(object.ptr());
  if (region == nullptr) throw nb::type_error("expected a triptych._C.Region");
  return *region;
}

// `place` is the function's name, for a segment with the code unit where it starts.
void describe(const capture::EntryTable& table, const std::string& place, nb::list& entries) {
  for (const auto& entry : table.entries()) {
    nb::dict described;
    described["place"] = place;
    described["hits"] = entry->hits;
    described["guards"] = entry->guards().texts();
    described["has_graph"] = entry->has_nodes();
    described["breaks"] = entry->has_break();
    const auto [versions, steps] = entry->guards().shortcut_size();
    described["steps"] = entry->guards().steps().size();
    described["shortcut"] = nb::make_tuple(versions, steps);
    described["shortcuts_taken"] = entry->guards().shortcuts();
    entries.append(described);
  }
}

std::string name_of(PyCodeObject* code) {
  return nb::cast<std::string>(nb::borrow(code->co_qualname));
}

nb::list region_entries(nb::handle object) {
  nb::list entries;
  const capture::Region& found = region(object);
  auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(found.function()));
  describe(found.entries(), name_of(code), entries);
  std::vector<std::tuple<std::string, int, const capture::Segment*>> segments;
  for (const auto& [place, segment] : found.segments().all()) {
    segments.emplace_back(name_of(place.first), place.second, segment.get());
  }
  std::ranges::sort(segments);
  for (const auto& [name, unit, segment] : segments) {
    describe(segment->entries, name + " at " + std::to_string(unit), entries);
  }
  return entries;
}

double time_dispatch(nb::handle object, nb::args arguments, int times) {
  std::vector<PyObject*> items;
  for (nb::handle argument : arguments) items.push_back(argument.ptr());
  const double seconds =
      region(object).time_dispatch(items.data(), static_cast<Py_ssize_t>(items.size()), times);
  if (seconds < 0) throw nb::value_error("no entry fits these arguments");
  return seconds;
}

}  // namespace

void bind_capture(nb::module_& module) {
  module.def(
      "capture_self_test", [] { unwrap(capture::self_test()); },
      "Raises UnsupportedError where CPython's frames are not as the interpreter expects them.");
  module.def(
      "make_region", &make_region, nb::arg("function"), nb::arg("self").none(), nb::arg("host"),
      nb::kw_only(), nb::arg("max_entries"), nb::arg("strict"), nb::arg("fullgraph"),
      nb::arg("dynamic").none(), nb::arg("hooked_call").none() = nb::none(),
      nb::arg("without_guards") = std::string(),
      "A callable that captures the function when called; `host` is a "
      "triptych.capture.host.Host. With `hooked_call` the function is the forward of `self`, "
      "an nn.Module; while that has hooks, `hooked_call` is called instead. Guards of the kind "
      "`without_guards` are left out: for tests that show what each kind is for.");
  module.attr("guard_names") = [] {
    nb::list names;
    for (const char* name : capture::kGuardNames) names.append(name);
    return nb::tuple(names);
  }();
  module.def("region_entries", &region_entries,
             "What a region has captured: its start's entries in order of use, then those of its "
             "segments.");
  module.def(
      "graph_break", [] {},
      "Ends the graph here: what comes before and after is compiled apart. Does nothing else.");
  module.def("reset_region", [](nb::handle object) { region(object).reset(); });
  module.def("time_dispatch", &time_dispatch, nb::arg("region"), nb::arg("args"), nb::kw_only(),
             nb::arg("times"), "Seconds a call of the region takes to find its entry.");
  module.def("region_function",
             [](nb::handle object) { return nb::borrow(region(object).function()); });
  module.def("is_region",
             [](nb::handle object) { return capture::region_of(object.ptr()) != nullptr; });
  module.attr("Region") = nb::borrow(reinterpret_cast<PyObject*>(capture::region_type()));
}

}  // namespace triptych::bindings
