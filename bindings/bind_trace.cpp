// Stage 1: what a frame does from a point on, as a graph, guards and effects. For tests and tools;
// a compiled region captures by itself.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "bindings.h"
#include "capture/guards/guard_program.h"
#include "capture/trace/capture.h"
#include "capture_graph.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

using capture::Owned;

std::vector<Owned> owned(nb::list items, nb::handle unbound) {
  std::vector<Owned> copies;
  for (nb::handle item : items)
    copies.push_back(Owned::copy(item.is(unbound) ? nullptr : item.ptr()));
  return copies;
}

nb::object object_or_none(const Owned& object) {
  return object ? nb::borrow(object.get()) : nb::none();
}

// (kind, parent, number, object) by index, in the order in which they can be loaded.
nb::list sources_data(const capture::SourceArena& sources) {
  nb::list data;
  for (std::uint32_t k = 0; k < sources.size(); ++k) {
    const capture::Source& source = sources[capture::SourceId{k}];
    data.append(nb::make_tuple(static_cast<int>(source.kind),
                               source.parent ? static_cast<int>(source.parent.index) : -1,
                               source.number, object_or_none(source.object),
                               nb::str(sources.text(capture::SourceId{k}).c_str())));
  }
  return data;
}

std::int64_t place(std::uint32_t recipe) {
  return recipe == capture::Effect::kNone ? -1 : static_cast<std::int64_t>(recipe);
}

nb::list recipes_data(const std::vector<capture::Recipe>& recipes) {
  nb::list data;
  for (const capture::Recipe& recipe : recipes) {
    nb::list items;
    for (const std::uint32_t item : recipe.items) items.append(place(item));
    data.append(nb::make_tuple(static_cast<int>(recipe.kind), recipe.index, recipe.source.index,
                               object_or_none(recipe.object), items));
  }
  return data;
}

nb::list effects_data(const std::vector<capture::Effect>& effects) {
  nb::list data;
  for (const capture::Effect& effect : effects) {
    nb::list items;
    for (const std::uint32_t item : effect.items) items.append(place(item));
    data.append(nb::make_tuple(static_cast<int>(effect.kind), place(effect.target),
                               place(effect.key), place(effect.value), items));
  }
  return data;
}

nb::object stop_data(const std::optional<capture::Break>& stop) {
  if (!stop) return nb::none();
  nb::list slots, stack;
  for (const std::uint32_t recipe : stop->slots) slots.append(place(recipe));
  for (const std::uint32_t recipe : stop->stack) stack.append(place(recipe));
  nb::dict data;
  data["unit"] = stop->unit;
  data["code"] = nb::str(stop->code.c_str());
  data["message"] = nb::str(stop->message.c_str());
  data["location"] = nb::str(stop->location.c_str());
  data["hint"] = nb::str(stop->hint.c_str());
  data["slots"] = slots;
  data["stack"] = stack;
  return data;
}

nb::dict capture_frame(nb::object function, nb::list slots, nb::list stack, int unit,
                       nb::object unbound, nb::object builder) {
  capture::CaptureRequest request;
  request.state.function = Owned::copy(function.ptr());
  request.state.slots = owned(slots, unbound);
  request.state.stack = owned(stack, unbound);
  request.state.unit = unit;
  capture::CaptureResult result = unwrap(capture::capture(request));
  const auto sources = std::make_shared<const capture::SourceArena>(std::move(result.sources));
  const auto program =
      unwrap(capture::GuardProgram::compile(sources, std::move(result.guards), {}));
  emit_graph(result, *program, builder);
  nb::list guards, inputs, examples;
  for (const std::string& text : program->texts()) guards.append(nb::str(text.c_str()));
  for (const capture::GraphInput& input : result.inputs) inputs.append(input.source.index);
  for (const capture::CapturedNode& node : result.nodes)
    examples.append(object_or_none(node.example));
  nb::dict data;
  data["guards"] = guards;
  data["inputs"] = inputs;
  data["examples"] = examples;
  data["sources"] = sources_data(*sources);
  data["recipes"] = recipes_data(result.recipes);
  data["effects"] = effects_data(result.effects);
  data["result"] = place(result.result);
  data["stop"] = stop_data(result.stop);
  data["needs_gradients"] = result.needs_gradients;
  return data;
}

}  // namespace

void bind_trace(nb::module_& module) {
  module.def("capture_frame", &capture_frame, nb::arg("function"), nb::arg("slots"),
             nb::arg("stack"), nb::arg("unit"), nb::arg("unbound"), nb::arg("builder"),
             "What a frame of the function does from a code unit on, with these variables and "
             "operands (`unbound` stands for none): the graph goes to the builder, the rest comes "
             "as plain data.");
}

}  // namespace triptych::bindings
