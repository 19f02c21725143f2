#include "capture/trace/recipe_builder.h"

#include <string_view>
#include <utility>

#include "capture/trace/tracer.h"

namespace triptych::capture {

std::uint32_t RecipeBuilder::add(Recipe recipe) {
  std::vector<Recipe>& recipes = tracer_.result().recipes;
  recipes.push_back(std::move(recipe));
  return static_cast<std::uint32_t>(recipes.size()) - 1;
}

std::uint32_t RecipeBuilder::load(SourceId source) {
  if (const auto found = loads_.find(source.index); found != loads_.end()) return found->second;
  const Source& step = tracer_.result().sources[source];
  Recipe recipe;
  if (step.kind == SourceKind::kInstanceDict) {
    recipe.kind = Recipe::Kind::kInstanceDict;
    recipe.items.push_back(load(step.parent));
  } else {
    recipe.kind = Recipe::Kind::kSource;
    recipe.source = source;
  }
  return loads_[source.index] = add(std::move(recipe));
}

bool RecipeBuilder::refuse(PyObject* object) {
  tracer_.stop("break.recipe", std::string("an object of type ") + Py_TYPE(object)->tp_name +
                                   " lives on after the captured part");
  return false;
}

bool RecipeBuilder::build(PyObject* object, std::uint32_t& recipe) {
  if (const auto found = built_.find(object); found != built_.end()) {
    recipe = found->second;
    return true;
  }
  if (const SourceId source = tracer_.source_of(object)) {
    recipe = load(source);
  } else if (const SourceId origin = tracer_.origin_of(object)) {
    recipe = load(origin);
  } else if (!build_new(object, recipe)) {
    return false;
  }
  built_[object] = recipe;
  return true;
}

bool RecipeBuilder::build_new(PyObject* object, std::uint32_t& recipe) {
  if (tracer_.is_symbolic(object)) return build_tensor(object, recipe);
  const Kind kind = tracer_.kind(object);
  switch (kind) {
    case Kind::kTensor:
      return build_tensor(object, recipe);
    case Kind::kSingleton:
      // Of no source: made while tracing, or found on something that is guarded.
      if (Py_TYPE(object) == &PyFunction_Type) return build_function(object, recipe);
      if (Py_TYPE(object) == tracer_.known().lru_cache) return refuse(object);
      [[fallthrough]];
    case Kind::kLeaf: {
      if (tracer_.is_identity_number(object)) {
        tracer_.stop("break.recipe", "the id of an object lives on after the captured part");
        return false;
      }
      if (Py_TYPE(object) == tracer_.known().size) return build_size(object, recipe);
      Recipe made;
      made.object = Owned::copy(object);
      recipe = add(std::move(made));
      return true;
    }
    case Kind::kTuple:
      if (Py_TYPE(object) != &PyTuple_Type) return build_object(object, recipe);
      return build_sequence(object, Recipe::Kind::kTuple, recipe);
    case Kind::kList:
      if (Py_TYPE(object) != &PyList_Type) return refuse(object);
      return build_sequence(object, Recipe::Kind::kList, recipe);
    case Kind::kDict:
      if (Py_TYPE(object) == tracer_.known().defaultdict) return build_defaultdict(object, recipe);
      if (Py_TYPE(object) != &PyDict_Type) return build_object(object, recipe);
      return build_dict(object, recipe);
    case Kind::kSet:
      return build_set(object, recipe);
    case Kind::kMethod:
      return build_method(object, recipe);
    case Kind::kPartial:
      return build_partial(object, recipe);
    case Kind::kCell:
      return build_cell(object, recipe);
    case Kind::kObject:
      return build_object(object, recipe);
    case Kind::kOpaque:
      if (PySlice_Check(object)) {
        auto* slice = reinterpret_cast<PySliceObject*>(object);
        PyObject* parts[] = {slice->start, slice->stop, slice->step};
        Recipe made;
        made.kind = Recipe::Kind::kSlice;
        if (!build_items(parts, 3, made.items)) return false;
        recipe = add(std::move(made));
        return true;
      }
      if (std::string_view(Py_TYPE(object)->tp_name) == "collections.deque")
        return build_deque(object, recipe);
      return build_iterator(object, recipe);
    case Kind::kSubclass:
      break;
  }
  return refuse(object);
}

bool RecipeBuilder::build_tensor(PyObject* fake, std::uint32_t& recipe) {
  Recorder& recorder = tracer_.recorder();
  if (recorder.is_real(fake)) {
    recipe = load(recorder.source_of(fake));
    return true;
  }
  std::optional<NodeArgument> value = recorder.argument(fake);
  if (!value) {
    tracer_.stop("break.recipe", "a tensor of unknown origin lives on after the captured part");
    return false;
  }
  CaptureResult& result = tracer_.result();
  Recipe made;
  made.kind = Recipe::Kind::kGraphOutput;
  made.index = static_cast<std::uint32_t>(result.outputs.size());
  result.outputs.push_back(std::move(*value));
  recipe = add(std::move(made));
  return true;
}

bool RecipeBuilder::build_items(PyObject* const* items, Py_ssize_t count,
                                std::vector<std::uint32_t>& built) {
  for (Py_ssize_t k = 0; k < count; ++k) {
    std::uint32_t item = Effect::kNone;
    if (!build(items[k], item)) return false;
    built.push_back(item);
  }
  return true;
}

// torch.Size(tuple): sizes may be symbolic.
bool RecipeBuilder::build_size(PyObject* object, std::uint32_t& recipe) {
  Recipe made;
  bool symbolic = false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(object); ++k)
    symbolic = symbolic || tracer_.is_symbolic(PyTuple_GET_ITEM(object, k));
  if (!symbolic) {
    made.object = Owned::copy(object);
    recipe = add(std::move(made));
    return true;
  }
  const Owned plain = Owned::steal(PySequence_List(object));
  Owned tuple = plain ? Owned::steal(PyList_AsTuple(plain.get())) : Owned();
  if (!tuple) return false;
  PyObject* parts[] = {reinterpret_cast<PyObject*>(tracer_.known().size),
                       tracer_.keep(std::move(tuple))};
  made.kind = Recipe::Kind::kCall;
  if (!build_items(parts, 2, made.items)) return false;
  recipe = add(std::move(made));
  return true;
}

// A list's content comes by an effect: it may hold itself.
bool RecipeBuilder::build_sequence(PyObject* object, Recipe::Kind kind, std::uint32_t& recipe) {
  Recipe made;
  made.kind = kind;
  if (kind == Recipe::Kind::kList && PyList_GET_SIZE(object) > 0) {
    recipe = add(std::move(made));
    built_[object] = recipe;
    fresh_.push_back({object, recipe});
    return true;
  }
  if (!build_items(PySequence_Fast_ITEMS(object), PySequence_Fast_GET_SIZE(object), made.items))
    return false;
  recipe = add(std::move(made));
  return true;
}

bool RecipeBuilder::build_dict(PyObject* object, std::uint32_t& recipe) {
  Recipe made;
  made.kind = Recipe::Kind::kDict;
  recipe = add(std::move(made));
  built_[object] = recipe;
  if (PyDict_GET_SIZE(object) > 0) fresh_.push_back({object, recipe});
  return true;
}

bool RecipeBuilder::build_defaultdict(PyObject* object, std::uint32_t& recipe) {
  const Owned factory = Owned::steal(PyObject_GetAttrString(object, "default_factory"));
  if (!factory) return false;
  PyObject* parts[] = {reinterpret_cast<PyObject*>(Py_TYPE(object)),
                       tracer_.keep(Owned::copy(factory.get()))};
  Recipe made;
  made.kind = Recipe::Kind::kCall;
  if (!build_items(parts, 2, made.items)) return false;
  recipe = add(std::move(made));
  built_[object] = recipe;
  fresh_.push_back({object, recipe});
  return true;
}

bool RecipeBuilder::can_be_keys(PyObject* sequence) {
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence); ++k) {
    if (!can_be_key(PySequence_Fast_GET_ITEM(sequence, k))) return false;
  }
  return true;
}

// A key is hashed when it is put into its container. An object made in the trace has its attributes
// only later: its own `__hash__` would not find them.
bool RecipeBuilder::can_be_key(PyObject* key) {
  if (tracer_.source_of(key)) return true;
  if (PyTuple_Check(key) && !can_be_keys(key)) return false;
  const bool is_made =
      tracer_.kind(key) == Kind::kObject || (PyTuple_Check(key) && Py_TYPE(key) != &PyTuple_Type);
  if (!is_made || Py_TYPE(key)->tp_hash == PyBaseObject_Type.tp_hash ||
      Py_TYPE(key)->tp_hash == PyTuple_Type.tp_hash)
    return true;
  tracer_.stop("break.recipe", std::string("a key of type ") + Py_TYPE(key)->tp_name +
                                   ", which has a hash of its own, is made");
  return false;
}

bool RecipeBuilder::build_set(PyObject* object, std::uint32_t& recipe) {
  const bool frozen = Py_TYPE(object) == &PyFrozenSet_Type;
  if (!frozen && Py_TYPE(object) != &PySet_Type) return refuse(object);
  Recipe made;
  made.kind = frozen ? Recipe::Kind::kFrozenSet : Recipe::Kind::kSet;
  const Owned items = Owned::steal(PySequence_List(object));
  if (!items) return false;
  if (!can_be_keys(items.get()) ||
      !build_items(PySequence_Fast_ITEMS(items.get()), PyList_GET_SIZE(items.get()), made.items))
    return false;
  recipe = add(std::move(made));
  return true;
}

bool RecipeBuilder::build_cell(PyObject* object, std::uint32_t& recipe) {
  Recipe made;
  made.kind = Recipe::Kind::kCell;
  recipe = add(std::move(made));
  built_[object] = recipe;
  if (PyCell_GET(object) != nullptr) fresh_.push_back({object, recipe});
  return true;
}

bool RecipeBuilder::build_method(PyObject* object, std::uint32_t& recipe) {
  Recipe made;
  made.kind = Recipe::Kind::kMethod;
  PyObject* parts[] = {PyMethod_GET_FUNCTION(object), PyMethod_GET_SELF(object)};
  if (!build_items(parts, 2, made.items)) return false;
  recipe = add(std::move(made));
  return true;
}

bool RecipeBuilder::build_partial(PyObject* object, std::uint32_t& recipe) {
  const Owned function = Owned::steal(PyObject_GetAttrString(object, "func"));
  const Owned arguments = Owned::steal(PyObject_GetAttrString(object, "args"));
  const Owned keywords = Owned::steal(PyObject_GetAttrString(object, "keywords"));
  if (!function || !arguments || !keywords) return false;
  Recipe made;
  made.kind = Recipe::Kind::kCall;
  std::vector<PyObject*> items{reinterpret_cast<PyObject*>(Py_TYPE(object)), function.get()};
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arguments.get()); ++k)
    items.push_back(PyTuple_GET_ITEM(arguments.get(), k));
  const Owned names = Owned::steal(PySequence_Tuple(keywords.get()));
  if (!names) return false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names.get()); ++k)
    items.push_back(PyDict_GetItemWithError(keywords.get(), PyTuple_GET_ITEM(names.get(), k)));
  made.object = Owned::copy(names.get());
  if (!build_items(items.data(), static_cast<Py_ssize_t>(items.size()), made.items)) return false;
  recipe = add(std::move(made));
  return true;
}

bool RecipeBuilder::build_deque(PyObject* object, std::uint32_t& recipe) {
  const Owned length = Owned::steal(PyObject_GetAttrString(object, "maxlen"));
  const Owned items = length ? Owned::steal(PySequence_Tuple(object)) : Owned();
  if (!items) return false;
  PyObject* parts[] = {reinterpret_cast<PyObject*>(Py_TYPE(object)),
                       tracer_.keep(Owned::copy(items.get())),
                       tracer_.keep(Owned::copy(length.get()))};
  Recipe made;
  made.kind = Recipe::Kind::kCall;
  if (!build_items(parts, 3, made.items)) return false;
  recipe = add(std::move(made));
  return true;
}

// An iterator says itself how it is made again: a callable, its arguments, and how far it is.
bool RecipeBuilder::build_iterator(PyObject* object, std::uint32_t& recipe) {
  PyTypeObject* type = Py_TYPE(object);
  const bool known =
      type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyRangeIter_Type ||
      type == &PyUnicodeIter_Type || type == &PyEnum_Type || type == &PyZip_Type ||
      type == &PyMap_Type || type == &PyFilter_Type || type == &PyReversed_Type ||
      type == &PyDictIterKey_Type || type == &PyDictIterValue_Type || type == &PyDictIterItem_Type;
  if (!known) return refuse(object);
  const Owned reduced = Owned::steal(PyObject_CallMethod(object, "__reduce__", nullptr));
  if (!reduced || !PyTuple_Check(reduced.get()) || PyTuple_GET_SIZE(reduced.get()) < 2)
    return refuse(object);
  tracer_.keep(Owned::copy(reduced.get()));
  PyObject* arguments = PyTuple_GET_ITEM(reduced.get(), 1);
  Recipe made;
  made.kind = Recipe::Kind::kCall;
  PyObject* callable = PyTuple_GET_ITEM(reduced.get(), 0);
  if (!build_items(&callable, 1, made.items) ||
      !build_items(&PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_SIZE(arguments), made.items))
    return false;
  recipe = add(std::move(made));
  built_[object] = recipe;
  // None stands for no state: an iterator over a range has none from 3.12 on.
  PyObject* state =
      PyTuple_GET_SIZE(reduced.get()) < 3 ? Py_None : PyTuple_GET_ITEM(reduced.get(), 2);
  if (state == Py_None) return true;
  Effect effect;
  effect.kind = Effect::Kind::kCall;
  const Owned name = Owned::steal(PyUnicode_InternFromString("__setstate__"));
  PyObject* setter = _PyType_Lookup(type, name.get());
  effect.items.push_back(recipe);
  if (setter == nullptr || !build(setter, effect.target) || !build_items(&state, 1, effect.items))
    return refuse(object);
  states_.push_back(std::move(effect));
  return true;
}

// A function made while tracing.
bool RecipeBuilder::build_function(PyObject* object, std::uint32_t& recipe) {
  if (!tracer_.is_fresh_function(object)) return refuse(object);
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  if (function->func_dict != nullptr && PyDict_GET_SIZE(function->func_dict) > 0)
    return refuse(object);
  Recipe made;
  made.kind = Recipe::Kind::kFunction;
  made.object = Owned::copy(function->func_code);
  const auto add_item = [&](PyObject* item) {
    std::uint32_t built = Effect::kNone;
    if (!build(item == nullptr ? Py_None : item, built)) return false;
    made.items.push_back(built);
    return true;
  };
  if (function->func_closure != nullptr) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(function->func_closure); ++k) {
      if (!add_item(PyTuple_GET_ITEM(function->func_closure, k))) return false;
    }
  }
  if (!add_item(function->func_defaults) || !add_item(function->func_kwdefaults) ||
      !add_item(function->func_globals))
    return false;
  recipe = add(std::move(made));
  return true;
}

// Made by `object.__new__` or what a base of C has in its place; the rest is content.
bool RecipeBuilder::build_object(PyObject* object, std::uint32_t& recipe) {
  PyTypeObject* type = Py_TYPE(object);
  PyTypeObject* base = type;
  while (base != nullptr && (base->tp_flags & Py_TPFLAGS_HEAPTYPE)) base = base->tp_base;
  const bool plain = base == &PyBaseObject_Type;
  if (base == nullptr ||
      (!plain && base != &PyDict_Type && base != &PyODict_Type && base != &PyTuple_Type))
    return refuse(object);
  PyObject** dict = _PyObject_GetDictPtr(object);
  if (plain && dict == nullptr) return refuse(object);  // slots only, or of C
  if (plain && type->tp_basicsize > static_cast<Py_ssize_t>(sizeof(PyObject) + 2 * sizeof(void*)))
    return refuse(object);
  Recipe made;
  made.kind = Recipe::Kind::kNewObject;
  made.object = Owned::copy(reinterpret_cast<PyObject*>(base));
  std::uint32_t type_recipe = Effect::kNone;
  if (!build(reinterpret_cast<PyObject*>(type), type_recipe)) return false;
  made.items.push_back(type_recipe);
  if (base == &PyTuple_Type) {
    std::uint32_t items = Effect::kNone;
    const Owned plain_tuple = Owned::steal(PyTuple_GetSlice(object, 0, PyTuple_GET_SIZE(object)));
    if (!plain_tuple) return false;
    const PyObject* owner = tracer_.keep(Owned::copy(plain_tuple.get()));
    if (!build(const_cast<PyObject*>(owner), items)) return false;
    made.items.push_back(items);
  }
  recipe = add(std::move(made));
  built_[object] = recipe;
  fresh_.push_back({object, recipe});
  return true;
}

void RecipeBuilder::add_effect(Effect effect) {
  tracer_.result().effects.push_back(std::move(effect));
}

bool RecipeBuilder::set_items(PyObject* dict, std::uint32_t target, Effect::Kind kind) {
  const Owned items = Owned::steal(
      PyDict_Check(dict) && Py_TYPE(dict) != &PyODict_Type && !PyODict_Check(dict)
          ? PyDict_Items(dict)
          : PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyODict_Type), "items", "O", dict));
  if (!items) return false;
  const Owned list = Owned::steal(PySequence_List(items.get()));
  if (!list) return false;
  tracer_.keep(Owned::copy(list.get()));
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list.get()); ++k) {
    PyObject* pair = PyList_GET_ITEM(list.get(), k);
    Effect effect;
    effect.kind = kind;
    effect.target = target;
    PyObject* const key = PyTuple_GET_ITEM(pair, 0);
    if (!can_be_key(key) || !build(key, effect.key)) return false;
    if (!build(PyTuple_GET_ITEM(pair, 1), effect.value)) return false;
    add_effect(std::move(effect));
  }
  return true;
}

bool RecipeBuilder::fill(const Fresh& fresh) {
  PyObject* object = fresh.object;
  if (Py_TYPE(object) == &PyList_Type) {
    Effect effect;
    effect.kind = Effect::Kind::kSetList;
    effect.target = fresh.recipe;
    if (!build_items(PySequence_Fast_ITEMS(object), PyList_GET_SIZE(object), effect.items))
      return false;
    add_effect(std::move(effect));
    return true;
  }
  if (Py_TYPE(object) == &PyCell_Type) {
    Effect effect;
    effect.kind = Effect::Kind::kSetCell;
    effect.target = fresh.recipe;
    if (!build(PyCell_GET(object), effect.value)) return false;
    add_effect(std::move(effect));
    return true;
  }
  if (PyDict_Check(object) && !set_items(object, fresh.recipe, Effect::Kind::kSetDictItem))
    return false;
  if (Py_TYPE(object) == &PyDict_Type) return true;
  PyObject** dict = _PyObject_GetDictPtr(object);
  if (dict == nullptr || *dict == nullptr) return true;
  return set_items(*dict, fresh.recipe, Effect::Kind::kSetAttribute);
}

namespace {

// The keys that were written: those that are gone now first, then in the order that the dict has.
Owned in_final_order(PyObject* keys, PyObject* after) {
  Owned list = Owned::steal(PyList_New(0));
  for (const bool present : {false, true}) {
    Py_ssize_t place = 0;
    PyObject* key;
    while (list && PyDict_Next(present ? after : keys, &place, &key, nullptr)) {
      const int other = PyDict_Contains(present ? keys : after, key);
      if (other < 0 || (other == present && PyList_Append(list.get(), key) < 0)) return {};
    }
  }
  return list;
}

}  // namespace

// Of a dict, key by key, so that what other code puts into it meanwhile stays.
bool RecipeBuilder::dict_effects(PyObject* dict, PyObject* before, PyObject* keys, SourceId outside,
                                 std::uint32_t target) {
  const Owned after = Owned::steal(PyDict_Copy(dict));
  const Owned list = after ? in_final_order(keys, after.get()) : Owned();
  if (!list) return false;
  tracer_.keep(Owned::copy(list.get()));
  const auto add = [&](PyObject* key, PyObject* value) {
    Effect effect;
    effect.kind = value == nullptr ? Effect::Kind::kDeleteDictItem : Effect::Kind::kSetDictItem;
    effect.target = target;
    if (!build(key, effect.key) || (value != nullptr && !build(value, effect.value))) return false;
    add_effect(std::move(effect));
    return true;
  };
  // A key that was deleted and written again goes to the end, wherever it stands at a later call.
  const auto moved = [&](PyObject* key) {
    return PyDict_GetItemWithError(keys, key) == Py_True && PyDict_Contains(before, key) == 1 &&
           PyDict_Contains(after.get(), key) == 1;
  };
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list.get()); ++k) {
    PyObject* key = PyList_GET_ITEM(list.get(), k);
    if (!moved(key)) continue;
    tracer_.guards().has_key(outside, key);
    if (!add(key, nullptr)) return false;
  }
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list.get()); ++k) {
    PyObject* key = PyList_GET_ITEM(list.get(), k);
    PyObject* value = PyDict_GetItemWithError(after.get(), key);
    PyObject* old = PyDict_GetItemWithError(before, key);
    if (PyErr_Occurred()) return false;
    const SourceId item = tracer_.result().sources.keyed(SourceKind::kDictItem, outside, key);
    if (!item) return false;
    if (value == nullptr && old == nullptr) {
      tracer_.guards().lacks_key(outside, key);
      continue;
    }
    const bool same = value == old || (value != nullptr && old != nullptr &&
                                       tracer_.is_fake(value) && tracer_.real_of(value) == old);
    if (same && !moved(key) && tracer_.was_read(item)) continue;  // else another at a later call
    if (value == nullptr) tracer_.guards().has_key(outside, key);
    if (!add(key, value)) return false;
  }
  return PyErr_Occurred() == nullptr;
}

bool RecipeBuilder::slot_effect(const Journal::Entry& entry) {
  PyObject* const slot = entry.slot.get();
  const Owned value = slot_value(entry.container.get(), slot);
  if (PyErr_Occurred()) return false;
  tracer_.keep(Owned::copy(value.get()));
  const SourceId place =
      tracer_.result().sources.keyed(SourceKind::kMemberSlot, entry.source, slot);
  PyObject* const old = entry.before.get();
  const bool same = value.get() == old ||
                    (value && tracer_.is_fake(value.get()) && tracer_.real_of(value.get()) == old);
  if (same && tracer_.was_read(place)) return true;
  if (!value && !old) {
    tracer_.guards().absent(place);
    return true;
  }
  Effect effect;
  effect.kind = value ? Effect::Kind::kSetAttribute : Effect::Kind::kDeleteAttribute;
  effect.target = load(entry.source);
  if (!build(PyDescr_NAME(slot), effect.key)) return false;
  if (value && !build(value.get(), effect.value)) return false;
  add_effect(std::move(effect));
  return true;
}

bool RecipeBuilder::effects() {
  for (const Journal::Entry& entry : tracer_.journal().entries()) {
    PyObject* object = entry.container.get();
    if (entry.slot) {
      if (!slot_effect(entry)) return false;
      continue;
    }
    Effect effect;
    effect.target = load(entry.source);
    if (PyDict_Check(object)) {
      if (entry.keys) {
        if (!dict_effects(object, entry.before.get(), entry.keys.get(), entry.source,
                          effect.target))
          return false;
        continue;
      }
      effect.kind = Effect::Kind::kClearDict;
      const std::uint32_t target = effect.target;
      add_effect(std::move(effect));
      if (!set_items(object, target, Effect::Kind::kSetDictItem)) return false;
    } else if (PyList_Check(object)) {
      effect.kind = Effect::Kind::kSetList;
      if (!build_items(PySequence_Fast_ITEMS(object), PyList_GET_SIZE(object), effect.items))
        return false;
      add_effect(std::move(effect));
    } else if (PyAnySet_Check(object)) {
      effect.kind = Effect::Kind::kSetSet;
      const Owned items = Owned::steal(PySequence_List(object));
      if (!items) return false;
      tracer_.keep(Owned::copy(items.get()));
      if (!can_be_keys(items.get()) || !build_items(PySequence_Fast_ITEMS(items.get()),
                                                    PyList_GET_SIZE(items.get()), effect.items))
        return false;
      add_effect(std::move(effect));
    } else {
      effect.kind = Effect::Kind::kSetCell;
      PyObject* value = PyCell_GET(object);
      const SourceId contents =
          tracer_.result().sources.step(SourceKind::kCellContents, entry.source);
      if (value == entry.before.get() && tracer_.was_read(contents)) continue;
      if (value != nullptr && !build(value, effect.value)) return false;
      add_effect(std::move(effect));
    }
  }
  for (std::size_t k = 0; k < fresh_.size(); ++k) {
    const Fresh fresh = fresh_[k];
    if (!fill(fresh)) return false;
  }
  for (Effect& effect : states_) add_effect(std::move(effect));  // once what they go over is full
  return true;
}

}  // namespace triptych::capture
