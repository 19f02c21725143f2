#include "region_builder.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "capture/guards/state_word.h"
#include "capture/guards/tensor_facts.h"
#include "capture/region/region.h"

namespace nb = nanobind;

namespace triptych::capture {
namespace {

// A capture as the tests write it. Sources are indices of the arena.
class Captured {
 public:
  explicit Captured(nb::handle function) {
    result.sources =
        SourceArena::of_code(reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function.ptr())));
  }

  Captured(const Captured&) = delete;

  std::uint32_t slot(int number) { return result.sources.slot(number).index; }
  std::uint32_t attribute(std::uint32_t owner, nb::handle name) {
    const SourceId dict = result.sources.step(SourceKind::kInstanceDict, {owner});
    return result.sources.keyed(SourceKind::kDictItem, dict, name.ptr()).index;
  }
  std::uint32_t instance_dict(std::uint32_t owner) {
    return result.sources.step(SourceKind::kInstanceDict, {owner}).index;
  }
  void equals(std::uint32_t source, nb::object value) {
    Guard guard{GuardKind::kEquals, {source}};
    guard.object = Owned::copy(value.ptr());
    result.guards.guards.push_back(std::move(guard));
  }
  void tensor(std::uint32_t source, nb::handle value, const std::vector<int>& symbolic) {
    Guard guard{GuardKind::kTensor, {source}};
    guard.tensor = std::make_unique<TensorFacts>(read_tensor_facts(value.ptr()));
    if (!symbolic.empty()) guard.tensor->symbolic.resize(guard.tensor->sizes.size());
    for (const int d : symbolic) guard.tensor->symbolic[static_cast<std::size_t>(d)] = true;
    result.guards.guards.push_back(std::move(guard));
  }
  void state() {
    Guard guard{GuardKind::kState, {}};
    guard.state = read_state();
    result.guards.guards.push_back(std::move(guard));
  }

  void input(std::uint32_t source) { result.inputs.push_back({{source}, "x"}); }
  void node(nb::object target, const std::vector<nb::object>& arguments) {
    CapturedNode node;
    node.target = Owned::copy(target.ptr());
    for (const nb::object& argument : arguments) node.arguments.push_back(made(argument));
    result.nodes.push_back(std::move(node));
  }
  void output(std::uint32_t node) { result.outputs.push_back({NodeArgument::Kind::kNode, node}); }
  std::uint32_t recipe(int kind, std::uint32_t index, nb::object object,
                       std::vector<std::uint32_t> items) {
    Recipe recipe{static_cast<Recipe::Kind>(kind), index};
    if (recipe.kind == Recipe::Kind::kSource) recipe.source = {index};
    recipe.object = Owned::copy(object.ptr());
    recipe.items = std::move(items);
    result.recipes.push_back(std::move(recipe));
    return static_cast<std::uint32_t>(result.recipes.size() - 1);
  }
  void effect(int kind, std::uint32_t target, std::uint32_t key, std::uint32_t value,
              std::vector<std::uint32_t> items) {
    result.effects.push_back(
        {static_cast<Effect::Kind>(kind), target, key, value, std::move(items)});
  }
  void returns(std::uint32_t recipe) { result.result = recipe; }
  void stops(int unit, std::vector<std::uint32_t> slots, std::vector<std::uint32_t> stack) {
    Break stop;
    stop.unit = unit;
    stop.code = "break.test";
    stop.message = "a test's break";
    stop.location = "here:1";
    stop.slots = std::move(slots);
    stop.stack = std::move(stack);
    result.stop = std::move(stop);
  }

  CaptureResult result;

 private:
  // Strings "n3" and "i0" are nodes and inputs.
  static NodeArgument made(const nb::object& argument) {
    NodeArgument value;
    if (nb::isinstance<nb::str>(argument)) {
      const std::string text = nb::cast<std::string>(argument);
      value.kind = text[0] == 'n' ? NodeArgument::Kind::kNode : NodeArgument::Kind::kInput;
      value.index = static_cast<std::uint32_t>(std::stoi(text.substr(1)));
      return value;
    }
    value.object = Owned::copy(argument.ptr());
    return value;
  }
};

class TestHost final : public RegionHost {
 public:
  TestHost(nb::object capture, nb::object compile, nb::object report)
      : capture_(std::move(capture)), compile_(std::move(compile)), report_(std::move(report)) {}

  Result<CaptureResult> capture(const CaptureRequest& request) override {
    nb::list slots, symbolic;
    for (const Owned& slot : request.state.slots) {
      slots.append(slot.get() == nullptr ? nb::none() : nb::borrow(slot.get()));
    }
    try {
      nb::object made = capture_(slots, request.state.unit, request.symbolic);
      if (made.is_none()) return unsupported("test.unsupported", "the test says so");
      return std::move(nb::cast<Captured&>(made).result);
    } catch (nb::python_error& error) {
      return internal_error("test.bug", error.what());
    }
  }

  Result<Owned> compile(const CaptureResult& captured, const GuardProgram&,
                        std::span<PyObject* const> inputs) override {
    nb::list given;
    for (PyObject* input : inputs) given.append(nb::borrow(input));
    try {
      return Owned::steal(compile_(captured.nodes.size(), given).release().ptr());
    } catch (nb::python_error& error) {
      error.restore();
      return user_error("test.raised", "the backend raised");
    }
  }

  void recompiles(const std::vector<GuardFailure>& reasons) override {
    nb::list texts;
    for (const GuardFailure& reason : reasons) texts.append(reason.text);
    report_("recompiles", texts);
  }
  void breaks(const Break& stop) override { report_("breaks", stop.code); }
  void runs_eagerly(const Error& error) override { report_("runs_eagerly", error.code); }
  bool graph_raised(bool) override { return false; }
  void raise(const Error& error) override {
    PyErr_SetString(PyExc_NotImplementedError, error.describe().c_str());
  }
  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(capture_.ptr());
    Py_VISIT(compile_.ptr());
    Py_VISIT(report_.ptr());
    return 0;
  }

 private:
  nb::object capture_, compile_, report_;
};

nb::object make_region(nb::handle function, nb::object self, nb::object capture, nb::object compile,
                       nb::object report, std::size_t max_entries, bool strict, bool fullgraph,
                       std::optional<bool> dynamic) {
  auto host = std::make_unique<TestHost>(std::move(capture), std::move(compile), std::move(report));
  RegionOptions options{max_entries, strict, fullgraph, dynamic};
  auto region = std::make_unique<Region>(Owned::copy(function.ptr()),
                                         self.is_none() ? Owned() : Owned::copy(self.ptr()),
                                         options, std::move(host));
  return nb::steal(make_region_object(std::move(region)));
}

}  // namespace

void bind_regions(nb::module_& module) {
  const std::vector<std::uint32_t> none;
  nb::class_<Captured>(module, "Captured")
      .def(nb::init<nb::handle>())
      .def("slot", &Captured::slot)
      .def("attribute", &Captured::attribute)
      .def("instance_dict", &Captured::instance_dict)
      .def("equals", &Captured::equals, nb::arg("source"), nb::arg("value").none())
      .def("tensor", &Captured::tensor, nb::arg("source"), nb::arg("value"),
           nb::arg("symbolic") = std::vector<int>())
      .def("state", &Captured::state)
      .def("input", &Captured::input)
      .def("node", &Captured::node)
      .def("output", &Captured::output)
      .def("recipe", &Captured::recipe, nb::arg("kind"), nb::arg("index") = 0,
           nb::arg("object").none() = nb::none(), nb::arg("items") = none)
      .def("effect", &Captured::effect, nb::arg("kind"), nb::arg("target"),
           nb::arg("key") = Effect::kNone, nb::arg("value") = Effect::kNone,
           nb::arg("items") = none)
      .def("returns", &Captured::returns)
      .def("stops", &Captured::stops);
  module.def("make_region", &make_region, nb::arg("function"), nb::arg("self").none(),
             nb::arg("capture"), nb::arg("compile"), nb::arg("report"), nb::arg("max_entries") = 8,
             nb::arg("strict") = false, nb::arg("fullgraph") = false,
             nb::arg("dynamic").none() = nb::none());
}

}  // namespace triptych::capture
