#include "capture/region/recipe_run.h"

namespace triptych::capture {

RecipeRun::RecipeRun(const std::vector<Recipe>& recipes, std::span<PyObject* const> outputs,
                     std::span<PyObject* const> values,
                     std::span<const std::uint32_t> source_of_recipe)
    : recipes_(recipes), outputs_(outputs), values_(values), source_of_recipe_(source_of_recipe) {}

PyObject* RecipeRun::at(std::uint32_t recipe) const {
  return recipe == Effect::kNone ? nullptr : made_[recipe].get();
}

Owned RecipeRun::take(std::uint32_t recipe) const { return Owned::copy(at(recipe)); }

bool RecipeRun::make_all() {
  made_.reserve(recipes_.size());
  for (std::size_t k = 0; k < recipes_.size(); ++k) {
    Owned value = make(recipes_[k], k);
    const bool may_be_unbound = recipes_[k].kind == Recipe::Kind::kSource;
    if (!value && !may_be_unbound) return false;
    made_.push_back(std::move(value));
  }
  return true;
}

Owned RecipeRun::tuple_of(std::span<const std::uint32_t> items) const {
  Owned tuple = Owned::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t k = 0; tuple && k < items.size(); ++k) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k), Py_NewRef(at(items[k])));
  }
  return tuple;
}

Owned RecipeRun::make_sequence(const Recipe& recipe) const {
  Owned tuple = tuple_of(recipe.items);
  if (!tuple || recipe.kind == Recipe::Kind::kTuple) return tuple;
  if (recipe.kind == Recipe::Kind::kList) return Owned::steal(PySequence_List(tuple.get()));
  if (recipe.kind == Recipe::Kind::kSet) return Owned::steal(PySet_New(tuple.get()));
  return Owned::steal(PyFrozenSet_New(tuple.get()));
}

Owned RecipeRun::make_dict(const Recipe& recipe) const {
  Owned dict = Owned::steal(PyDict_New());
  for (std::size_t k = 0; dict && k + 1 < recipe.items.size(); k += 2) {
    if (PyDict_SetItem(dict.get(), at(recipe.items[k]), at(recipe.items[k + 1])) < 0) return {};
  }
  return dict;
}

Owned RecipeRun::make_call(const Recipe& recipe) const {
  std::vector<PyObject*> arguments;
  for (std::size_t k = 1; k < recipe.items.size(); ++k) arguments.push_back(at(recipe.items[k]));
  const Py_ssize_t keywords = recipe.object ? PyTuple_GET_SIZE(recipe.object.get()) : 0;
  const auto positional = static_cast<Py_ssize_t>(arguments.size()) - keywords;
  return Owned::steal(PyObject_Vectorcall(at(recipe.items[0]), arguments.data(),
                                          static_cast<std::size_t>(positional),
                                          keywords > 0 ? recipe.object.get() : nullptr));
}

Owned RecipeRun::make_object(const Recipe& recipe) const {
  auto* const type = reinterpret_cast<PyTypeObject*>(at(recipe.items[0]));
  auto* const base = reinterpret_cast<PyTypeObject*>(recipe.object.get());
  const Owned arguments = tuple_of(std::span(recipe.items).subspan(1));
  if (!arguments) return {};
  return Owned::steal(base->tp_new(type, arguments.get(), nullptr));
}

// The items end with defaults, keyword defaults and globals; before them lie the cells.
Owned RecipeRun::make_function(const Recipe& recipe) const {
  const std::size_t cells = recipe.items.size() - 3;
  PyObject* const defaults = at(recipe.items[cells]);
  PyObject* const keyword_defaults = at(recipe.items[cells + 1]);
  Owned function = Owned::steal(PyFunction_New(recipe.object.get(), at(recipe.items[cells + 2])));
  if (!function) return {};
  if (cells > 0) {
    const Owned closure = tuple_of(std::span(recipe.items).first(cells));
    if (!closure || PyFunction_SetClosure(function.get(), closure.get()) < 0) return {};
  }
  if (defaults != Py_None && PyFunction_SetDefaults(function.get(), defaults) < 0) return {};
  if (keyword_defaults != Py_None &&
      PyFunction_SetKwDefaults(function.get(), keyword_defaults) < 0) {
    return {};
  }
  return function;
}

Owned RecipeRun::make(const Recipe& recipe, std::size_t index) const {
  switch (recipe.kind) {
    case Recipe::Kind::kGraphOutput:
      return Owned::copy(outputs_[recipe.index]);
    case Recipe::Kind::kSource:
      return Owned::copy(values_[source_of_recipe_[index]]);
    case Recipe::Kind::kInstanceDict:
      return Owned::steal(PyObject_GenericGetDict(at(recipe.items[0]), nullptr));
    case Recipe::Kind::kConstant:
      return Owned::copy(recipe.object.get());
    case Recipe::Kind::kTuple:
    case Recipe::Kind::kList:
    case Recipe::Kind::kSet:
    case Recipe::Kind::kFrozenSet:
      return make_sequence(recipe);
    case Recipe::Kind::kDict:
      return make_dict(recipe);
    case Recipe::Kind::kSlice:
      return Owned::steal(
          PySlice_New(at(recipe.items[0]), at(recipe.items[1]), at(recipe.items[2])));
    case Recipe::Kind::kCell:
      return Owned::steal(PyCell_New(recipe.items.empty() ? nullptr : at(recipe.items[0])));
    case Recipe::Kind::kMethod:
      return Owned::steal(PyMethod_New(at(recipe.items[0]), at(recipe.items[1])));
    case Recipe::Kind::kCall:
      return make_call(recipe);
    case Recipe::Kind::kNewObject:
      return make_object(recipe);
    case Recipe::Kind::kFunction:
      return make_function(recipe);
  }
  return {};
}

bool RecipeRun::apply(const std::vector<Effect>& effects) {
  for (const Effect& effect : effects) {
    if (!apply_one(effect)) return false;
  }
  return true;
}

// What `object.__setattr__` does, or `type.__setattr__` for a class: a class' own `__setattr__` has
// run while it was traced.
bool RecipeRun::set_attribute(PyObject* target, PyObject* name, PyObject* value) const {
  const bool is_type = PyType_Check(target) != 0;
  const setattrofunc set = is_type ? PyType_Type.tp_setattro : PyObject_GenericSetAttr;
  return set(target, name, value) == 0;
}

bool RecipeRun::set_list(PyObject* target, const std::vector<std::uint32_t>& items) const {
  const Owned tuple = tuple_of(items);
  if (!tuple) return false;
  return PyList_SetSlice(target, 0, PyList_GET_SIZE(target), tuple.get()) == 0;
}

bool RecipeRun::set_set(PyObject* target, const std::vector<std::uint32_t>& items) const {
  if (PySet_Clear(target) < 0) return false;
  for (const std::uint32_t item : items) {
    if (PySet_Add(target, at(item)) < 0) return false;
  }
  return true;
}

bool RecipeRun::apply_one(const Effect& effect) const {
  PyObject* const target = at(effect.target);
  if (target == nullptr) {
    PyErr_SetString(PyExc_SystemError, "triptych: an object to be written is not there");
    return false;
  }
  PyObject* const key = at(effect.key);
  PyObject* const value = at(effect.value);
  switch (effect.kind) {
    case Effect::Kind::kSetAttribute:
      return set_attribute(target, key, value);
    case Effect::Kind::kDeleteAttribute:
      return set_attribute(target, key, nullptr);
    case Effect::Kind::kSetDictItem:
      // An OrderedDict keeps its order beside the dict.
      if (PyODict_Check(target))
        return PyODict_Type.tp_as_mapping->mp_ass_subscript(target, key, value) == 0;
      return PyDict_SetItem(target, key, value) == 0;
    case Effect::Kind::kDeleteDictItem:
      if (PyODict_Check(target)) {
        return PyODict_Type.tp_as_mapping->mp_ass_subscript(target, key, nullptr) == 0;
      }
      return PyDict_DelItem(target, key) == 0;
    case Effect::Kind::kClearDict: {
      if (!PyODict_Check(target)) return PyDict_Clear(target), true;
      auto* const type = reinterpret_cast<PyObject*>(&PyODict_Type);
      return static_cast<bool>(Owned::steal(PyObject_CallMethod(type, "clear", "O", target)));
    }
    case Effect::Kind::kSetList:
      return set_list(target, effect.items);
    case Effect::Kind::kSetSet:
      return set_set(target, effect.items);
    case Effect::Kind::kSetCell:
      return PyCell_Set(target, value) == 0;
    case Effect::Kind::kSetGrad:
      return PyObject_SetAttrString(target, "grad", value) == 0;
    case Effect::Kind::kCall: {
      const Owned arguments = tuple_of(effect.items);
      if (!arguments) return false;
      return static_cast<bool>(Owned::steal(PyObject_Call(target, arguments.get(), nullptr)));
    }
  }
  return false;
}

}  // namespace triptych::capture
