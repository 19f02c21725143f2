#include "capture/region/entry.h"

#include <algorithm>

#include "capture/region/graph_run.h"
#include "capture/region/recipe_run.h"
#include "capture/region/region_host.h"

namespace triptych::capture {
namespace {

constexpr std::uint32_t kNone = Effect::kNone;

// Strong references to values that a call needs while it runs. Few need no memory of their own.
class Held {
 public:
  explicit Held(const std::vector<PyObject*>& values) : count_(values.size()) {
    PyObject** place = few_;
    if (count_ > kFew) {
      many_ = values;
      place = many_.data();
    } else {
      std::copy(values.begin(), values.end(), few_);
    }
    values_ = {place, count_};
    for (PyObject* value : values_) Py_XINCREF(value);
  }
  ~Held() {
    for (PyObject* value : values_) Py_XDECREF(value);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  std::span<PyObject* const> values() const { return values_; }

 private:
  static constexpr std::size_t kFew = 16;
  std::size_t count_;
  PyObject* few_[kFew];
  std::vector<PyObject*> many_;
  std::span<PyObject*> values_;
};

// The items of what a compiled graph returned.
bool items_of(const Owned& returned, std::size_t wanted, std::span<PyObject* const>& items) {
  PyObject* const object = returned.get();
  if (PyTuple_Check(object)) {
    items = {&PyTuple_GET_ITEM(object, 0), static_cast<std::size_t>(PyTuple_GET_SIZE(object))};
  } else if (PyList_Check(object)) {
    items = {reinterpret_cast<PyListObject*>(object)->ob_item,
             static_cast<std::size_t>(PyList_GET_SIZE(object))};
  } else {
    PyErr_Format(PyExc_TypeError, "a compiled graph returned %s, expected a tuple",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  if (items.size() == wanted) return true;
  PyErr_Format(PyExc_ValueError, "a compiled graph returned %zd values, expected %zd",
               static_cast<Py_ssize_t>(items.size()), static_cast<Py_ssize_t>(wanted));
  return false;
}

}  // namespace

Result<std::shared_ptr<Entry>> Entry::make(CaptureResult captured, bool strict) {
  std::shared_ptr<Entry> entry(new Entry());
  std::vector<SourceId> exports;
  for (const GraphInput& input : captured.inputs) exports.push_back(input.source);
  for (const Recipe& recipe : captured.recipes) {
    const bool loads = recipe.kind == Recipe::Kind::kSource;
    entry->source_of_recipe_.push_back(loads ? static_cast<std::uint32_t>(exports.size()) : kNone);
    if (loads) exports.push_back(recipe.source);
  }
  auto sources = std::make_shared<const SourceArena>(std::move(captured.sources));
  TRIPTYCH_TRY(entry->guards_,
               GuardProgram::compile(std::move(sources), std::move(captured.guards), exports));
  entry->guards_->set_strict(strict);
  entry->captured_ = std::move(captured);
  entry->shape_ = entry->shape_of_result();
  entry->has_nodes_ = !entry->captured_.nodes.empty();
  entry->changes_state_ = GraphRun::may_change_state(entry->captured_);
  return entry;
}

void Entry::drop_nodes() {
  captured_.nodes.clear();
  for (GraphInput& input : captured_.inputs) input.example = Owned();
}

Entry::Shape Entry::shape_of_result() const {
  if (captured_.stop || !captured_.effects.empty() || captured_.result == kNone) {
    return Shape::kRecipes;
  }
  const Recipe& result = captured_.recipes[captured_.result];
  if (result.kind == Recipe::Kind::kGraphOutput) return Shape::kOneOutput;
  if (result.kind != Recipe::Kind::kTuple || result.items.size() != captured_.outputs.size()) {
    return Shape::kRecipes;
  }
  for (std::size_t k = 0; k < result.items.size(); ++k) {
    const Recipe& item = captured_.recipes[result.items[k]];
    if (item.kind != Recipe::Kind::kGraphOutput || item.index != k) return Shape::kRecipes;
  }
  return Shape::kAllOutputs;
}

RegionEnd Entry::run(const std::vector<PyObject*>& values, PyObject* function,
                     RegionHost& host) const {
  const Held held(values);
  if (!graph_) return finish({}, held.values(), function);
  GraphRun run;
  if (changes_state_) run.begin(captured_, held.values());
  Owned returned = Owned::steal(
      PyObject_Vectorcall(graph_.get(), held.values().data(), captured_.inputs.size(), nullptr));
  if (!returned) {
    RegionEnd end;
    end.program_runs = host.graph_raised(run.undo());
    return end;
  }
  run.settle();
  std::span<PyObject* const> outputs;
  if (!items_of(returned, captured_.outputs.size(), outputs)) return {};
  if (shape_ == Shape::kOneOutput) {
    return {Owned::copy(outputs[captured_.recipes[captured_.result].index]), {}};
  }
  // A tuple is the caller's own: a backend may keep the one that it returned.
  if (shape_ == Shape::kAllOutputs && Py_REFCNT(returned.get()) == 1 &&
      PyTuple_CheckExact(returned.get())) {
    return {std::move(returned), {}};
  }
  return finish(outputs, held.values(), function);
}

RegionEnd Entry::finish(std::span<PyObject* const> outputs, std::span<PyObject* const> values,
                        PyObject* function) const {
  RecipeRun recipes(captured_.recipes, outputs, values, source_of_recipe_);
  if (!recipes.make_all() || !recipes.apply(captured_.effects)) return {};
  if (!captured_.stop) return {recipes.take(captured_.result), {}};
  RegionEnd end;
  FrameState& frame = end.frame.emplace();
  frame.function = Owned::copy(function);
  frame.unit = captured_.stop->unit;
  frame.slots.reserve(captured_.stop->slots.size());
  for (const std::uint32_t recipe : captured_.stop->slots) {
    frame.slots.push_back(recipes.take(recipe));
  }
  frame.stack.reserve(captured_.stop->stack.size());
  for (const std::uint32_t recipe : captured_.stop->stack) {
    frame.stack.push_back(recipes.take(recipe));
  }
  return end;
}

// What the collector may find cycles through: the sources' constants and guards are types, code and
// weak references.
int Entry::traverse(visitproc visit, void* arg) const {
  Py_VISIT(graph_.get());
  for (const Recipe& recipe : captured_.recipes) Py_VISIT(recipe.object.get());
  return 0;
}

}  // namespace triptych::capture
