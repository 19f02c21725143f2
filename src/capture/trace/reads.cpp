// What the program gets from outside, and containers from outside that C code is to look into.
#include <algorithm>
#include <set>
#include <utility>

#include "capture/guards/tensor_facts.h"
#include "capture/trace/builtin_table.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {

Kind Tracer::kind(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const auto found = kinds_.find(type);
  if (found != kinds_.end()) return found->second;
  keep(Owned::copy(reinterpret_cast<PyObject*>(type)));
  return kinds_[type] = kind_of_type(known_, type);
}

SourceId Tracer::source_of(PyObject* object) const {
  const auto found = sources_.find(object);
  return found == sources_.end() ? SourceId{} : found->second;
}

PyObject* Tracer::object_of(SourceId source) const {
  for (const auto& [object, place] : sources_) {
    if (place == source) return object;
  }
  return nullptr;
}

void Tracer::remember(PyObject* object, SourceId source) {
  if (!sources_.try_emplace(object, source).second) return;
  keep(Owned::copy(object));
}

SourceId Tracer::type_source(PyTypeObject* type) {
  const auto found = type_sources_.find(type);
  if (found != type_sources_.end()) return found->second;
  return type_sources_[type] = result_.sources.constant(reinterpret_cast<PyObject*>(type));
}

PyObject* Tracer::real_of(PyObject* fake) const {
  const auto found = reals_.find(fake);
  return found == reals_.end() ? nullptr : found->second;
}

// Parameters and buffers keep their sizes; 0 and 1 are what broadcasting looks at.
TensorTrace::Symbols Tracer::choose_symbols(PyObject* tensor, SourceId source, TensorFacts& facts) {
  TensorTrace::Symbols chosen;
  const bool none = limits_.symbolic == nullptr || limits_.symbolic->empty();
  if (none && !limits_.all_sizes_symbolic) return chosen;
  const std::string text = result_.sources.text(source);
  bool of_module = Py_TYPE(tensor) != known_.tensor;
  for (SourceId at = source; at && !of_module; at = result_.sources[at].parent) {
    PyObject* key = result_.sources[at].object.get();
    of_module = key != nullptr && PyUnicode_Check(key) &&
                PyUnicode_CompareWithASCIIString(key, "_buffers") == 0;
  }
  const bool all = limits_.all_sizes_symbolic && !of_module;
  for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
    const bool asked = !none && limits_.symbolic->contains({text, static_cast<int>(d)});
    if (facts.sizes[d] < 2 || (!all && !asked)) continue;
    InputSymbol symbol;
    symbol.name = "s" + std::to_string(result_.guards.symbols.size());
    symbol.source = source;
    symbol.dimension = static_cast<int>(d);
    symbol.hint = facts.sizes[d];
    chosen.emplace_back(static_cast<std::int64_t>(d), symbol.name);
    result_.guards.symbols.push_back(std::move(symbol));
    facts.symbolic.resize(facts.sizes.size());
    facts.symbolic[d] = true;
  }
  if (!chosen.empty()) follow_sizes(facts);
  return chosen;
}

// An integer that was another at a later call, as a value of the graph; null without an exception
// where it is to be a constant.
Owned Tracer::symbolic_integer(PyObject* value, SourceId source) {
  if (limits_.symbolic == nullptr || limits_.symbolic->empty() || Py_TYPE(value) != &PyLong_Type)
    return {};
  const auto known = integers_.find(source.index);
  if (known != integers_.end()) return Owned::copy(known->second);
  if (!limits_.symbolic->contains({result_.sources.text(source), InputSymbol::kInteger})) return {};
  int overflow = 0;
  const long long hint = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || hint < 2) return {};
  InputSymbol symbol;
  symbol.name = "s" + std::to_string(result_.guards.symbols.size());
  symbol.source = source;
  symbol.dimension = InputSymbol::kInteger;
  symbol.hint = hint;
  Owned made = tensors_.symbolic_integer(symbol.name, hint);
  if (!made) return {};
  result_.guards.symbols.push_back(std::move(symbol));
  recorder_.add_real(made.get(), value, source);
  integers_[source.index] = made.get();
  return made;
}

Owned Tracer::concrete(PyObject* object) {
  if (!is_symbolic(object)) return Owned::copy(object);
  ++native_depth_;
  Owned value;
  if (Py_TYPE(object) == known_.sym_int) {
    value = Owned::steal(PyNumber_Long(object));
  } else if (Py_TYPE(object) == known_.sym_float) {
    value = Owned::steal(PyNumber_Float(object));
  } else if (const int truth = PyObject_IsTrue(object); truth >= 0) {
    value = Owned::copy(truth ? Py_True : Py_False);
  }
  --native_depth_;
  return value;
}

Owned Tracer::substitute(PyObject* tensor, SourceId source) {
  const auto found = fakes_.find(tensor);
  if (found != fakes_.end()) {
    guards_.same(source, recorder_.source_of(found->second));
    return Owned::copy(found->second);
  }
  if (std::optional<Error> refused = TensorTrace::refusal(tensor))
    return stop("break.tensor", refused->message);
  TensorFacts facts = read_tensor_facts(tensor);
  const TensorTrace::Symbols symbols = choose_symbols(tensor, source, facts);
  guards_.tensor(source, std::move(facts));
  Owned fake = tensors_.fake(tensor, symbols);
  if (!fake) return {};
  keep(Owned::copy(tensor));
  fakes_[tensor] = fake.get();
  reals_[fake.get()] = tensor;
  recorder_.add_real(fake.get(), tensor, source);
  return fake;
}

// A lambda or inner function that the program passes around may be made anew for each call.
bool Tracer::is_made_anew(PyObject* object, SourceId source) const {
  if (Py_TYPE(object) != &PyFunction_Type) return false;
  const SourceKind step = result_.sources[source].kind;
  const bool passed = step == SourceKind::kSlot || step == SourceKind::kStack ||
                      step == SourceKind::kCellContents || step == SourceKind::kListItem ||
                      step == SourceKind::kTupleItem;
  if (!passed) return false;
  const auto* function = reinterpret_cast<PyFunctionObject*>(object);
  const char* name = PyUnicode_AsUTF8(function->func_qualname);
  if (name == nullptr) return PyErr_Clear(), false;
  return std::string_view(name).find('<') != std::string_view::npos &&
         (function->func_dict == nullptr || PyDict_GET_SIZE(function->func_dict) == 0) &&
         function_rule(known_, object).kind == FunctionRule::Kind::kInterpret;
}

// It is what its code, its closure, its defaults and its globals are.
Owned Tracer::read_function(PyFunctionObject* function, SourceId source) {
  auto* object = reinterpret_cast<PyObject*>(function);
  if (const SourceId known = source_of(object)) {
    guards_.same(source, known);
    return Owned::copy(object);
  }
  SourceArena& sources = result_.sources;
  guards_.type(source, &PyFunction_Type);
  guards_.is(sources.step(SourceKind::kFunctionCode, source), function->func_code);
  guards_.length(sources.step(SourceKind::kInstanceDict, source), 0);
  if (function->func_defaults == nullptr)
    guards_.absent(sources.step(SourceKind::kFunctionDefaults, source));
  if (function->func_kwdefaults == nullptr)
    guards_.absent(sources.step(SourceKind::kFunctionKwDefaults, source));
  for (const PyFunctionObject* other : functions_by_code_) {
    if (other->func_code == function->func_code)
      guards_.distinct(
          source, source_of(reinterpret_cast<PyObject*>(const_cast<PyFunctionObject*>(other))));
  }
  functions_by_code_.push_back(function);
  remember(object, source);
  return Owned::copy(object);
}

void Tracer::pin(PyObject* object) {
  if (Py_TYPE(object) != &PyFunction_Type || functions_by_code_.empty()) return;
  const auto found =
      std::ranges::find(functions_by_code_, reinterpret_cast<PyFunctionObject*>(object));
  if (found != functions_by_code_.end()) guards_.is(source_of(object), object);
}

Owned Tracer::read(PyObject* value, SourceId source) {
  read_sources_.insert(source.index);
  switch (kind(value)) {
    case Kind::kLeaf:
      if (Owned symbol = symbolic_integer(value, source)) return symbol;
      if (PyErr_Occurred()) return {};
      guards_.equals(source, value);
      return Owned::copy(value);
    case Kind::kSingleton:
      if (is_made_anew(value, source))
        return read_function(reinterpret_cast<PyFunctionObject*>(value), source);
      guards_.is(source, value);
      remember(value, source);
      return Owned::copy(value);
    case Kind::kTensor:
      return substitute(value, source);
    case Kind::kSubclass:
      return stop("break.subclass", std::string("a tensor of class ") + Py_TYPE(value)->tp_name);
    default:
      break;
  }
  if (const SourceId known = source_of(value)) {
    guards_.same(source, known);
    return Owned::copy(value);
  }
  guards_.type(source, Py_TYPE(value));
  remember(value, source);
  if (kind(value) == Kind::kMethod) {
    SourceArena& sources = result_.sources;
    if (!read(PyMethod_GET_FUNCTION(value), sources.step(SourceKind::kMethodFunction, source)))
      return {};
    PyObject* self = PyMethod_GET_SELF(value);
    if (!read(self, sources.step(SourceKind::kMethodSelf, source))) return {};
  }
  return Owned::copy(value);
}

Owned Tracer::read_list_item(PyObject* list, Py_ssize_t index) {
  const SourceId source = source_of(list);
  PyObject* value = PyList_GET_ITEM(list, index);
  if (!source || journal_.written(list)) return Owned::copy(value);
  return read(value, result_.sources.item(SourceKind::kListItem, source, index));
}

Owned Tracer::read_tuple_item(PyObject* tuple, Py_ssize_t index) {
  const SourceId source = source_of(tuple);
  PyObject* value = PyTuple_GET_ITEM(tuple, index);
  if (!source) return Owned::copy(value);
  return read(value, result_.sources.item(SourceKind::kTupleItem, source, index));
}

bool Tracer::look_up(PyObject* dict, PyObject* key, Owned& found) {
  pin(key);
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr && PyErr_Occurred()) return false;
  const SourceId source = source_of(dict);
  if (!source || journal_.written(dict, key)) {
    found = Owned::copy(value);
    return true;
  }
  if (!is_plain_key(key)) {
    stop("break.key", std::string("a look-up by a key of type ") + Py_TYPE(key)->tp_name);
    return false;
  }
  if (value == nullptr) {
    guards_.lacks_key(source, key);
    return true;
  }
  const SourceId item = result_.sources.keyed(SourceKind::kDictItem, source, key);
  if (!item) return false;
  found = read(value, item);
  return static_cast<bool>(found);
}

Owned Tracer::localized_dict(PyObject* dict) {
  const bool ordered = PyODict_Check(dict);
  const auto keys_of = [](PyObject* of) { return Owned::steal(PySequence_Tuple(of)); };
  const Owned keys = ordered ? keys_of(dict) : keys_of(Owned::steal(PyDict_Keys(dict)).get());
  Owned copy = Owned::steal(ordered ? PyODict_New() : PyDict_New());
  if (!keys || !copy) return {};
  PyObject* before = journal_.before(dict);
  Owned outside = before == nullptr ? Owned::copy(keys.get())
                                    : keys_of(Owned::steal(PyDict_Keys(before)).get());
  if (!outside) return {};
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(outside.get()); ++k) {
    PyObject* key = PyTuple_GET_ITEM(outside.get(), k);
    if (!is_plain_key(key))
      return stop("break.key", std::string("a dict with a key of type ") + Py_TYPE(key)->tp_name);
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys.get()); ++k) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), k);
    Owned value;
    if (!look_up(dict, key, value)) return {};
    if (value && PyObject_SetItem(copy.get(), key, value.get()) < 0) return {};
  }
  guards_.keys(source_of(dict), std::move(outside));
  return copy;
}

Owned Tracer::localized(PyObject* object) {
  const Kind what = kind(object);
  if (what < Kind::kTuple || what > Kind::kSet) {
    if (what == Kind::kOpaque && is_external(object))
      return stop("break.opaque", std::string("an object of type ") + Py_TYPE(object)->tp_name);
    return Owned::copy(object);
  }
  if (!is_external(object)) return Owned::copy(object);
  if (has_own_iterator(object))
    return stop("break.opaque", std::string("an object of type ") + Py_TYPE(object)->tp_name +
                                    ", which iterates in its own way");
  return local_copy(object);
}

bool Tracer::has_own_iterator(PyObject* object) {
  const Kind what = kind(object);
  return what >= Kind::kTuple && what <= Kind::kSet && is_external(object) &&
         (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) && has_own_method(object, "__iter__");
}

// Its content as C code finds it.
Owned Tracer::local_copy(PyObject* object) {
  const Kind what = kind(object);
  const SourceId source = source_of(object);
  Owned copy;
  if (what == Kind::kDict) {
    copy = localized_dict(object);
  } else if (what == Kind::kSet) {
    const Owned items = Owned::steal(PySequence_List(object));
    if (!items) return {};
    const bool seen = journal_.written(object);  // all of it was read before the first write
    if (!seen) guards_.length(source, PySet_GET_SIZE(object));
    for (Py_ssize_t k = 0; !seen && k < PyList_GET_SIZE(items.get()); ++k) {
      PyObject* item = PyList_GET_ITEM(items.get(), k);
      if (!is_plain_key(item))
        return stop("break.key",
                    std::string("a set with an item of type ") + Py_TYPE(item)->tp_name);
      guards_.has_key(source, item);
    }
    copy = Owned::steal(PyFrozenSet_Check(object) ? PyFrozenSet_New(object) : PySet_New(object));
  } else {
    const bool is_list = what == Kind::kList;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (!is_list || !journal_.written(object)) guards_.length(source, count);
    copy = Owned::steal(is_list ? PyList_New(count) : PyTuple_New(count));
    if (!copy) return {};
    for (Py_ssize_t k = 0; k < count; ++k) {
      Owned item = is_list ? read_list_item(object, k) : read_tuple_item(object, k);
      if (!item) return {};
      if (is_list) {
        PyList_SET_ITEM(copy.get(), k, item.release());
      } else {
        PyTuple_SET_ITEM(copy.get(), k, item.release());
      }
    }
    if (!is_list && Py_TYPE(object) != &PyTuple_Type) {
      // A named tuple stays what it is.
      PyObject* arguments[] = {reinterpret_cast<PyObject*>(Py_TYPE(object)), copy.get()};
      const Owned make = Owned::steal(
          PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"));
      if (!make) return {};
      copy = Owned::steal(PyObject_Vectorcall(make.get(), arguments, 2, nullptr));
    }
  }
  if (copy) {
    local_copies_.push_back(Owned::copy(object));
    local_copies_.push_back(Owned::copy(copy.get()));
  }
  return copy;
}

Owned Tracer::localized_deep(PyObject* object) {
  const Kind what = kind(object);
  if (what < Kind::kTuple || what > Kind::kSet) return localized(object);
  Owned local = localized(object);
  if (!local || what == Kind::kSet) return local;
  if (what == Kind::kDict) {
    Owned copy;
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(local.get(), &place, &key, &value)) {
      const Owned deep = localized_deep(value);
      if (!deep) return {};
      if (deep.get() == value) continue;
      if (!copy) copy = Owned::steal(PyDict_Copy(local.get()));
      if (!copy || PyDict_SetItem(copy.get(), key, deep.get()) < 0) return {};
    }
    return copy ? std::move(copy) : std::move(local);
  }
  Owned copy;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(local.get());
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(local.get(), k);
    Owned deep = localized_deep(item);
    if (!deep) return {};
    if (deep.get() == item) continue;
    if (!copy) {
      copy = Owned::steal(what == Kind::kList ? PyList_GetSlice(local.get(), 0, count)
                                              : PySequence_List(local.get()));
    }
    if (!copy || PyList_SetItem(copy.get(), k, deep.release()) < 0) return {};
  }
  if (!copy) return local;
  return what == Kind::kList ? std::move(copy) : Owned::steal(PyList_AsTuple(copy.get()));
}

SourceId Tracer::origin_of(PyObject* copy) const {
  for (std::size_t k = 1; k < local_copies_.size(); k += 2) {
    if (local_copies_[k].get() != copy) continue;
    PyObject* original = local_copies_[k - 1].get();
    return journal_.written(original) ? SourceId{} : source_of(original);
  }
  return {};
}

void Tracer::note_identity(PyObject* object, PyObject* number) {
  identity_numbers_.insert(keep(Owned::copy(number)));
  if (!is_external(object) || kind(object) == Kind::kSingleton) return;
  for (PyObject* other : identified_) {
    if (other != object && Py_TYPE(other) == Py_TYPE(object))
      guards_.distinct(source_of(object), source_of(other));
  }
  identified_.push_back(object);
}

bool Tracer::before_write(PyObject* container) {
  const SourceId source = source_of(container);
  if (!source) return true;
  for (std::size_t k = 0; k < local_copies_.size(); k += 2) {
    // Somebody still looks at what it was: an iterator, a view of a dict.
    if (local_copies_[k].get() == container && Py_REFCNT(local_copies_[k + 1].get()) > 1) {
      stop("break.written", "a container is written while it is iterated");
      return false;
    }
  }
  if (PyODict_Check(container)) return before_whole_write(container);
  if (journal_.written(container)) return true;
  if (!PyList_Check(container) && !PyAnySet_Check(container))
    return journal_.keep(container, source);
  // Its whole content is written again after a call, so what was in it is read, tensors as fakes.
  const Owned local = local_copy(container);
  if (!local || !journal_.keep(container, source)) return false;
  local_copies_.resize(local_copies_.size() - 2);
  return !PyList_Check(container) ||
         PyList_SetSlice(container, 0, PY_SSIZE_T_MAX, local.get()) == 0;
}

// The same for a dict, where its order is written or what is in it is not known key by key.
bool Tracer::before_whole_write(PyObject* dict) {
  const SourceId source = source_of(dict);
  if (!source) return true;
  if (journal_.written(dict) && journal_.written(dict, Py_None)) return true;
  const Owned local = local_copy(dict);
  if (!local || !journal_.keep(dict, source)) return false;
  local_copies_.resize(local_copies_.size() - 2);
  return replace_items(dict, local.get()) && journal_.note_all(dict);
}

// Two objects that were not one may be at another call: a write to one would be one to the other.
void Tracer::guard_written_apart() {
  const auto owner_of = [&](SourceId source) {
    const Source& step = result_.sources[source];
    return step.kind == SourceKind::kInstanceDict ? step.parent : SourceId{};
  };
  std::unordered_map<std::uint32_t, PyObject*> objects;
  std::vector<std::pair<std::uint32_t, PyObject*>> known;
  for (const auto& [object, source] : sources_) {
    objects[source.index] = object;
    if (kind(object) >= Kind::kList) known.emplace_back(source.index, object);
  }
  std::ranges::sort(known);
  // Containers of one type, the dicts of objects of one type, and those objects, for their slots.
  const auto group_of = [&](PyObject* object, SourceId source) {
    const SourceId owner = owner_of(source);
    const auto found = owner ? objects.find(owner.index) : objects.end();
    return std::pair(found == objects.end() ? Py_TYPE(object) : Py_TYPE(found->second),
                     static_cast<bool>(owner));
  };
  std::set<std::uint32_t> done;
  for (const Journal::Entry& entry : journal_.entries()) {
    if (PyCell_Check(entry.container.get()) || !done.insert(entry.source.index).second) continue;
    const auto group = group_of(entry.container.get(), entry.source);
    std::vector<SourceId> others;
    for (const auto& [index, object] : known) {
      const SourceId source{index};
      if (object != entry.container.get() && group_of(object, source) == group)
        others.push_back(source);
    }
    if (!others.empty()) guards_.apart(entry.source, std::move(others));
  }
}

// A trace keeps alive what it has met, and a finalizer would run late: the write ends the graph.
bool Tracer::ends_with_finalizer(PyObject* old) {
  if (old == nullptr || Py_TYPE(old)->tp_finalize == nullptr || kind(old) != Kind::kObject)
    return false;
  stop("break.finalizer",
       std::string("an object with a finalizer may end: ") + Py_TYPE(old)->tp_name);
  return true;
}

bool Tracer::before_dict_write(PyObject* dict, PyObject* key, bool deletes) {
  if (!is_external(dict)) return true;
  pin(key);
  if (!is_plain_key(key)) {
    stop("break.key", std::string("a write by a key of type ") + Py_TYPE(key)->tp_name);
    return false;
  }
  if (ends_with_finalizer(PyDict_GetItemWithError(dict, key)) || PyErr_Occurred()) return false;
  return before_write(dict) && journal_.note_key(dict, key, deletes);
}

}  // namespace triptych::capture
