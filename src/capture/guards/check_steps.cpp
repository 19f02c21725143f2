#include "capture/guards/check_steps.h"

#include <algorithm>
#include <cstring>

#include "capture/guards/abc_token.h"
#include "capture/guards/plain_value.h"
#include "capture/guards/tensor_facts.h"

// Exported by every CPython, declared in a private header from 3.13 on.
extern "C" PyObject* _PyDict_GetItem_KnownHash(PyObject* dict, PyObject* key, Py_hash_t hash);

namespace triptych::capture {
namespace {

PyObject* value_of(const GuardStep& step, const GuardContext& context) {
  return context.registers[step.from];
}

// A null register is no object: it never matches.
bool is_object(const GuardStep& step, GuardContext& context) {
  return value_of(step, context) == step.a.object;
}

// A dead reference names None: that must not match None.
bool is_weak_object(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value == weak_target(step.a.weak) && value != Py_None;
}

bool has_type(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(value)) == step.a.object;
}

bool has_weak_type(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value != nullptr &&
         reinterpret_cast<PyObject*>(Py_TYPE(value)) == weak_target(step.a.weak);
}

bool equals_string(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  if (value == step.a.object) return true;
  if (value == nullptr || !PyUnicode_CheckExact(value)) return false;
  return PyUnicode_Compare(value, step.a.object) == 0;
}

bool equals_float(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  if (value == nullptr || !PyFloat_CheckExact(value)) return false;
  const double number = PyFloat_AS_DOUBLE(value);
  return std::memcmp(&number, &step.a.bits, sizeof number) == 0;
}

bool equals_plain(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value != nullptr && plain_equal(value, step.a.object);
}

bool has_length(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  if (value == nullptr) return step.from_instance_dict && step.a.number == 0;
  return length_of(value) == step.a.number;
}

bool key_matches(const Expected& expected, PyObject* key) {
  PyObject* const wanted = expected.get();
  return wanted != nullptr && (wanted == key || plain_equal(wanted, key));
}

bool ordered_keys_match(PyObject* dict, const std::vector<Expected>& keys) {
  // An OrderedDict has an order of its own. The base class' iterator runs no method of a subclass.
  const Owned iterator = Owned::steal(PyODict_Type.tp_iter(dict));
  std::size_t place = 0;
  while (const Owned key = Owned::steal(iterator ? PyIter_Next(iterator.get()) : nullptr)) {
    if (place == keys.size() || !key_matches(keys[place++], key.get())) return false;
  }
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return place == keys.size();
}

bool has_keys(const GuardStep& step, GuardContext& context) {
  const auto& keys = *static_cast<const std::vector<Expected>*>(step.a.data);
  PyObject* const dict = value_of(step, context);
  if (dict == nullptr) return step.from_instance_dict && keys.empty();
  if (!PyDict_Check(dict) || static_cast<std::size_t>(PyDict_GET_SIZE(dict)) != keys.size()) {
    return false;
  }
  if (PyODict_Check(dict)) return ordered_keys_match(dict, keys);
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  for (const Expected& expected : keys) {
    if (!PyDict_Next(dict, &position, &key, &value) || !key_matches(expected, key)) return false;
  }
  return true;
}

// A key whose hash is a user's code is looked for by identity.
int set_contains(PyObject* set, PyObject* key) {
  if (is_plain_value(key)) return PySet_Contains(set, key);
  const Owned iterator = Owned::steal(PyObject_GetIter(set));
  while (const Owned item = Owned::steal(iterator ? PyIter_Next(iterator.get()) : nullptr)) {
    if (item.get() == key) return 1;
  }
  return PyErr_Occurred() != nullptr ? -1 : 0;
}

// 1: there, 0: not, -1: this is nothing that has keys, or the key died.
int contains(PyObject* container, const GuardStep& step) {
  PyObject* const key = static_cast<const Expected*>(step.a.data)->get();
  if (key == nullptr) return -1;
  int found = -1;
  if (PyDict_Check(container)) {
    const auto hash = static_cast<Py_hash_t>(step.b.number);
    found = _PyDict_GetItem_KnownHash(container, key, hash) != nullptr ? 1 : 0;
    if (PyErr_Occurred() != nullptr) found = -1;
  } else if (PyAnySet_Check(container)) {
    found = set_contains(container, key);
  }
  if (found < 0) PyErr_Clear();
  return found;
}

bool has_key(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value != nullptr && contains(value, step) == 1;
}

bool lacks_key(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  if (value == nullptr) return step.from_instance_dict;
  return contains(value, step) == 0;
}

bool is_absent(const GuardStep& step, GuardContext& context) {
  return value_of(step, context) == nullptr;
}

bool is_tensor(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value != nullptr && tensor_matches(*static_cast<const TensorFacts*>(step.a.data), value);
}

bool has_state(const GuardStep& step, GuardContext& context) {
  return *static_cast<const StateWord*>(step.a.data) == context.state;
}

bool is_same(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  const auto& others = *static_cast<const RegisterList*>(step.a.data);
  return value != nullptr && std::ranges::all_of(others, [&](std::uint32_t other) {
           return context.registers[other] == value;
         });
}

bool is_distinct(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  const auto& others = *static_cast<const RegisterList*>(step.a.data);
  return std::ranges::none_of(
      others, [&](std::uint32_t other) { return context.registers[other] == value; });
}

bool are_disjoint(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  const auto& others = *static_cast<const RegisterList*>(step.a.data);
  return value != nullptr && std::ranges::all_of(others, [&](std::uint32_t other) {
           PyObject* const tensor = context.registers[other];
           return tensor != nullptr && tensors_disjoint(value, tensor);
         });
}

bool has_abc_token(const GuardStep& step, GuardContext&) { return abc_token() == step.a.number; }

bool store_symbol(const GuardStep& step, GuardContext& context, std::int64_t value) {
  const auto* symbol = static_cast<const InputSymbol*>(step.b.data);
  if (value < symbol->low || value > symbol->high) return false;
  std::int64_t& place = context.symbols[step.to];
  // The same symbol again: sizes that were equal must be.
  if (step.repeated && place != value) return false;
  place = value;
  return true;
}

bool size_symbol(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  return value != nullptr &&
         store_symbol(step, context, tensor_size(value, static_cast<int>(step.a.number)));
}

bool integer_symbol(const GuardStep& step, GuardContext& context) {
  PyObject* const value = value_of(step, context);
  if (value == nullptr || !PyLong_CheckExact(value)) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0 && store_symbol(step, context, number);
}

bool relations_hold(const GuardStep& step, GuardContext& context) {
  return static_cast<const SizeRelations*>(step.a.data)->first_broken(context.symbols) < 0;
}

const Expected& expect(Guard& guard, StepData& data) {
  const Expected& expected = data.objects.emplace_back(guard.object.get());
  guard.weak = expected.is_weak();
  guard.object = Owned::copy(expected.holder());
  return expected;
}

void expect_object(Guard& guard, RunStep strong, RunStep weak, GuardStep& step, StepData& data) {
  const Expected& expected = expect(guard, data);
  step.run = expected.is_weak() ? weak : strong;
  step.a.object = expected.holder();
}

void expect_value(PyObject* object, GuardStep& step) {
  step.a.object = object;
  const bool singleton = object == Py_None || PyBool_Check(object) || object == Py_Ellipsis;
  if (singleton) {
    step.run = is_object;
  } else if (PyUnicode_CheckExact(object)) {
    step.run = equals_string;
  } else if (PyFloat_CheckExact(object)) {
    const double number = PyFloat_AS_DOUBLE(object);
    std::memcpy(&step.a.bits, &number, sizeof number);
    step.run = equals_float;
  } else {
    step.run = equals_plain;
  }
}

void expect_keys(Guard& guard, GuardStep& step, StepData& data) {
  PyObject* const keys = guard.object.get();
  std::vector<Expected>& list = data.keys.emplace_back();
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys); ++k) {
    list.emplace_back(PyTuple_GET_ITEM(keys, k));
  }
  step.a.data = &list;
  if (!is_plain_value(keys)) guard.object = Owned::copy(Py_None);
}

}  // namespace

Py_ssize_t length_of(PyObject* container) {
  if (PyTuple_Check(container)) return PyTuple_GET_SIZE(container);
  if (PyList_Check(container)) return PyList_GET_SIZE(container);
  if (PyDict_Check(container)) return PyDict_GET_SIZE(container);
  if (PyAnySet_Check(container)) return PySet_GET_SIZE(container);
  return -1;
}

Expected::Expected(PyObject* object) {
  if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) {
    holder_ = Owned::steal(PyWeakref_NewRef(object, nullptr));
    weak_ = static_cast<bool>(holder_);
    PyErr_Clear();
  }
  if (!weak_) holder_ = Owned::copy(object);
}

PyObject* Expected::get() const {
  if (!weak_) return holder_.get();
  PyObject* target = weak_target(reinterpret_cast<PyWeakReference*>(holder_.get()));
  return target == Py_None ? nullptr : target;
}

GuardStep make_check(Guard& guard, RegisterList others, StepData& data) {
  GuardStep step;
  const auto over_others = [&](RunStep run) {
    step.run = run;
    step.a.data = &data.registers.emplace_back(std::move(others));
  };
  switch (guard.kind) {
    case GuardKind::kIs:
      expect_object(guard, is_object, is_weak_object, step, data);
      break;
    case GuardKind::kType:
      expect_object(guard, has_type, has_weak_type, step, data);
      break;
    case GuardKind::kEquals:
      expect_value(guard.object.get(), step);
      break;
    case GuardKind::kLength:
      step.run = has_length;
      step.a.number = guard.number;
      break;
    case GuardKind::kKeys:
      step.run = has_keys;
      expect_keys(guard, step, data);
      break;
    case GuardKind::kHasKey:
    case GuardKind::kLacksKey:
      step.run = guard.kind == GuardKind::kHasKey ? has_key : lacks_key;
      step.b.number = PyObject_Hash(guard.object.get());
      step.a.data = &expect(guard, data);
      break;
    case GuardKind::kAbsent:
      step.run = is_absent;
      break;
    case GuardKind::kTensor:
      step.run = is_tensor;
      step.a.data = guard.tensor.get();
      break;
    case GuardKind::kState:
      step.run = has_state;
      step.a.data = &guard.state;
      break;
    case GuardKind::kSame:
      over_others(is_same);
      break;
    case GuardKind::kDistinct:
      over_others(is_distinct);
      break;
    case GuardKind::kDisjoint:
      over_others(are_disjoint);
      break;
    case GuardKind::kAbcToken:
      step.run = has_abc_token;
      step.a.number = guard.number;
      break;
  }
  return step;
}

GuardStep make_symbol(const InputSymbol& symbol, std::uint32_t number, bool is_first) {
  GuardStep step;
  step.run = symbol.dimension == InputSymbol::kInteger ? integer_symbol : size_symbol;
  step.to = number;
  step.a.number = symbol.dimension;
  step.b.data = &symbol;
  step.repeated = !is_first;
  return step;
}

GuardStep make_relations(SizeRelations relations, StepData& data) {
  GuardStep step;
  step.run = relations_hold;
  step.a.data = &data.relations.emplace_back(std::move(relations));
  return step;
}

}  // namespace triptych::capture
