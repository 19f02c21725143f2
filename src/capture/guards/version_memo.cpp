#include "capture/guards/version_memo.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capture/guards/guard_program.h"
#include "capture/guards/plain_value.h"
#include "support/check.h"

// Exported by every CPython, declared in a private header from 3.13 on.
extern "C" PyObject* _PyDict_GetItem_KnownHash(PyObject* dict, PyObject* key, Py_hash_t hash);

namespace triptych::capture {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const void* version_address(PyObject* dict) {
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#pragma GCC diagnostic pop

// From 3.13 on an instance and its dict may share their values, and a store to an attribute then
// leaves the dict's version. Taking an item out ends that for good; put back it is the last one
// again, so no one sees a difference.
bool has_own_values(PyObject* dict) {
#if PY_VERSION_HEX >= 0x030d0000
  if (reinterpret_cast<PyDictObject*>(dict)->ma_values == nullptr) return true;
  if (PyDict_GET_SIZE(dict) == 0) return false;
  const Owned item = Owned::steal(PyObject_CallMethod(dict, "popitem", nullptr));
  if (!item) {
    PyErr_Clear();
    return false;
  }
  TRIPTYCH_CHECK(
      PyDict_SetItem(dict, PyTuple_GET_ITEM(item.get(), 0), PyTuple_GET_ITEM(item.get(), 1)) == 0,
      "an item cannot be put back into a dict");
  return reinterpret_cast<PyDictObject*>(dict)->ma_values == nullptr;
#else
  static_cast<void>(dict);
  return true;
#endif
}

// 0: it has none at the moment.
unsigned type_version(const PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030d0000
  return type->tp_version_tag;
#else
  const bool valid = (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0;
  return valid ? type->tp_version_tag : 0;
#endif
}

// An object of such a type can become one of another.
bool may_change_type(PyObject* object) {
  return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 || PyModule_Check(object);
}

std::uint64_t word_at(const void* address) {
  std::uint64_t word = 0;
  std::memcpy(&word, address, sizeof word);
  return word;
}

static_assert(sizeof(PyObject*) == sizeof(std::uint64_t));

}  // namespace

// Goes through the steps of a run that has passed, and sorts them.
class VersionMemo::Recorder {
 public:
  Recorder(VersionMemo& memo, const GuardProgram& program, const GuardContext& context,
           const std::vector<bool>& volatile_registers)
      : memo_(memo),
        program_(program),
        context_(context),
        volatile_(volatile_registers),
        implied_(program.register_count()),
        has_dict_token_(program.register_count()),
        has_type_token_(program.register_count()) {}

  void run() {
    find_roots();
    for (const GuardStep& step : program_.steps()) {
      const bool covered = step.is_load ? cover_load(step) : cover_check(step);
      if (!covered) add_step(step);
    }
    for (const std::uint32_t place : program_.export_registers()) need(place);
  }

 private:
  PyObject* value(std::uint32_t place) const { return context_.registers[place]; }
  SourceKind source_kind(std::uint32_t place) const {
    return program_.sources()[program_.register_source(place)].kind;
  }

  // Objects whose own dict is read; arguments that are looked at otherwise are looked at each time.
  void find_roots() {
    is_root_.assign(program_.register_count(), false);
    for (const GuardStep& step : program_.steps()) {
      if (!step.is_load) continue;
      const SourceKind kind = source_kind(step.to);
      if (kind == SourceKind::kFunction) is_root_[step.to] = true;
      if (kind == SourceKind::kInstanceDict && source_kind(step.from) == SourceKind::kSlot) {
        is_root_[step.from] = true;
      }
    }
  }

  void add_step(const GuardStep& step) {
    if (step.is_load ? step.from_source : true) need(step.from);
    if (!step.is_load && step.guard < program_.guards().guards.size()) {
      for (const SourceId other : program_.guards().guards[step.guard].others) {
        need(program_.register_of(other));
      }
    }
    memo_.steps_.push_back(step);
  }

  void need(std::uint32_t place) {
    if (place >= implied_.size() || !implied_[place] || needed_.contains(place)) return;
    needed_.insert(place);
    memo_.registers_.emplace_back(place, value(place));
  }

  bool word(const void* address, std::uint32_t dict = kNone) {
    memo_.words_.push_back({address, word_at(address)});
    memo_.dicts_.push_back(dict);
    return true;
  }

  void add_item(PyObject* object, PyObject* key, std::int64_t number, PyObject* expected) {
    memo_.items_.push_back({memo_.words_.size(), object, key, number, expected});
  }

  // It is the same object as long as the weak reference names it and the pointer to it is the same.
  bool alive(PyObject* object) {
    const Expected& expected = memo_.held_.emplace_back(object);
    if (expected.is_weak()) {
      return word(&reinterpret_cast<PyWeakReference*>(expected.holder())->wr_object);
    }
    memo_.held_.pop_back();
    return false;
  }

  // Of a value that a compared pointer leads to.
  bool is_stable(std::uint32_t place) {
    PyObject* const object = value(place);
    const bool lasts = object == nullptr || object == Py_None || PyBool_Check(object);
    if (lasts) return true;
    if (PyDict_CheckExact(object) && !volatile_[place] && has_own_values(object)) {
      has_dict_token_[place] = true;
      return word(version_address(object), place);
    }
    if (alive(object)) return true;
    if (!is_plain_value(object)) return false;
    memo_.held_.emplace_back(object);
    return true;
  }

  // The contents of the dict in this register are implied.
  bool cover_dict(std::uint32_t place) {
    PyObject* const dict = value(place);
    if (!implied_[place] || volatile_[place]) return false;
    if (source_kind(place) == SourceKind::kInstanceDict) return true;  // had its token when loaded
    if (dict == nullptr || !PyDict_Check(dict) || !has_own_values(dict)) return false;
    if (!has_dict_token_[place]) word(version_address(dict), place);
    return has_dict_token_[place] = true;
  }

  bool cover_type(std::uint32_t place) {
    PyObject* const object = value(place);
    if (!implied_[place] || object == nullptr) return false;
    if (!may_change_type(object) || has_type_token_[place]) return true;
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    has_type_token_[place] = true;
    word(&object->ob_type);
    return !types_.insert(type).second || alive(type);
  }

  bool cover_root(const GuardStep& step) {
    PyObject* const object = value(step.to);
    if (!is_root_[step.to] || object == nullptr) return false;
    Expected expected(object);
    if (!expected.is_weak()) return false;
    const bool is_function = source_kind(step.to) == SourceKind::kFunction;
    memo_.roots_.push_back({std::move(expected), is_function ? -1 : step.a.number});
    return true;
  }

  bool cover_item(const GuardStep& step) {
    if (!volatile_[step.from]) return cover_dict(step.from);
    PyObject* const dict = value(step.from);
    if (dict == nullptr || !PyDict_Check(dict)) return false;
    add_item(dict, step.a.object, step.b.number, value(step.to));
    return is_stable(step.to);
  }

  bool cover_instance_dict(const GuardStep& step) {
    PyObject** const place = _PyObject_GetDictPtr(value(step.from));
    if (place == nullptr) return false;
    if (*place != nullptr && !volatile_[step.to] && !has_own_values(*place)) return false;
    word(place);
    if (*place == nullptr || volatile_[step.to]) return true;
    return word(version_address(*place), step.to);
  }

  bool cover_field(const GuardStep& step, std::size_t offset) {
    word(reinterpret_cast<const char*>(value(step.from)) + offset);
    return is_stable(step.to);
  }

  bool cover_class_attribute(const GuardStep& step) {
    auto* const type = reinterpret_cast<PyTypeObject*>(value(step.from));
    const unsigned version = type_version(type);
    if (version == 0) return false;
    if (!has_dict_token_[step.from])
      add_item(reinterpret_cast<PyObject*>(type), nullptr, version, nullptr);
    return has_dict_token_[step.from] = true;
  }

  bool load_is_implied(const GuardStep& step);
  bool cover_load(const GuardStep& step) { return implied_[step.to] = load_is_implied(step); }
  bool cover_check(const GuardStep& step);

  VersionMemo& memo_;
  const GuardProgram& program_;
  const GuardContext& context_;
  const std::vector<bool>& volatile_;
  std::vector<bool> implied_, has_dict_token_, has_type_token_, is_root_;
  std::set<std::uint32_t> needed_;
  std::set<PyObject*> types_;
};

bool VersionMemo::Recorder::load_is_implied(const GuardStep& step) {
  const SourceKind kind = source_kind(step.to);
  if (kind == SourceKind::kConstant) return true;
  if (kind == SourceKind::kSlot || kind == SourceKind::kFunction) return cover_root(step);
  if (!step.from_source || !implied_[step.from]) return false;
  if (kind == SourceKind::kDictItem) return cover_item(step);
  if (value(step.from) == nullptr) return false;
  switch (kind) {
    case SourceKind::kInstanceDict:
      return cover_instance_dict(step);
    case SourceKind::kType:
      return cover_type(step.from);
    case SourceKind::kClassAttribute:
      return cover_class_attribute(step);
    case SourceKind::kTupleItem:  // of immutable objects
    case SourceKind::kFunctionGlobals:
    case SourceKind::kFunctionBuiltins:
    case SourceKind::kClosureCell:
    case SourceKind::kMethodSelf:
    case SourceKind::kMethodFunction:
      return true;
    case SourceKind::kFunctionCode:
      return cover_field(step, offsetof(PyFunctionObject, func_code));
    case SourceKind::kFunctionDefaults:
      return cover_field(step, offsetof(PyFunctionObject, func_defaults));
    case SourceKind::kFunctionKwDefaults:
      return cover_field(step, offsetof(PyFunctionObject, func_kwdefaults));
    case SourceKind::kCellContents:
      return cover_field(step, offsetof(PyCellObject, ob_ref));
    case SourceKind::kMemberSlot:
    case SourceKind::kPartialFunction:
    case SourceKind::kPartialArguments:
    case SourceKind::kPartialKeywords:
    case SourceKind::kPropertyGetter:
    case SourceKind::kWrappedFunction:
      return cover_field(step, static_cast<std::size_t>(step.b.number));
    case SourceKind::kStack:
    case SourceKind::kListItem:
    case SourceKind::kTensorGrad:
    case SourceKind::kSlot:
    case SourceKind::kFunction:
    case SourceKind::kConstant:
    case SourceKind::kDictItem:
      return false;
  }
  return false;
}

bool VersionMemo::Recorder::cover_check(const GuardStep& step) {
  if (step.guard >= program_.guards().guards.size()) return false;
  const Guard& guard = program_.guards().guards[step.guard];
  if (!guard.source || !implied_[step.from]) return false;
  PyObject* const object = value(step.from);
  switch (guard.kind) {
    case GuardKind::kIs:
    case GuardKind::kEquals:
    case GuardKind::kAbsent:
      return true;
    case GuardKind::kType:
      return cover_type(step.from);
    case GuardKind::kLength:
      if (object != nullptr && PyTuple_Check(object)) return true;
      return (object == nullptr || PyDict_Check(object)) && cover_dict(step.from);
    case GuardKind::kKeys:
      // Keys of an OrderedDict change places without a new version.
      return (object == nullptr || !PyODict_Check(object)) && cover_dict(step.from);
    case GuardKind::kHasKey:
    case GuardKind::kLacksKey:
      return (object == nullptr || PyDict_Check(object)) && cover_dict(step.from);
    case GuardKind::kSame:
    case GuardKind::kDistinct:
      return std::ranges::all_of(
          guard.others, [&](SourceId other) { return implied_[program_.register_of(other)]; });
    case GuardKind::kTensor: {
      const std::optional<CompactFacts> facts = CompactFacts::of(*guard.tensor);
      if (facts) memo_.tensors_.emplace_back(object, *facts);
      return facts.has_value();
    }
    case GuardKind::kState:
    case GuardKind::kDisjoint:
    case GuardKind::kAbcToken:
      return false;
  }
  return false;
}

VersionMemo::VersionMemo(const GuardProgram& program, const GuardContext& context,
                         const std::vector<bool>& volatile_registers) {
  Recorder(*this, program, context, volatile_registers).run();
}

std::size_t VersionMemo::first_changed(std::size_t from, std::size_t to) const {
  for (; from < to; ++from) {
    if (word_at(words_[from].address) != words_[from].expected) return from;
  }
  return to;
}

bool VersionMemo::holds(const Item& item) {
  if (item.key == nullptr) {
    return type_version(reinterpret_cast<PyTypeObject*>(item.object)) ==
           static_cast<unsigned>(item.number);
  }
  PyObject* const now =
      _PyDict_GetItem_KnownHash(item.object, item.key, static_cast<Py_hash_t>(item.number));
  if (now == nullptr) PyErr_Clear();
  return now == item.expected;
}

bool VersionMemo::all_hold(std::uint32_t& changed) const {
  std::size_t done = 0;
  for (const Item& item : items_) {
    const std::size_t found = first_changed(done, item.words_before);
    if (found != item.words_before) {
      changed = dicts_[found];
      return false;
    }
    done = found;
    if (!holds(item)) return false;
  }
  const std::size_t found = first_changed(done, words_.size());
  if (found != words_.size()) {
    changed = dicts_[found];
    return false;
  }
  return true;
}

VersionMemo::Result VersionMemo::check(GuardContext& context, std::uint32_t& changed) const {
  for (const Root& root : roots_) {
    const auto slot = static_cast<std::size_t>(root.slot);
    PyObject* const object = root.slot < 0               ? context.function
                             : slot < context.slot_count ? context.slots[slot]
                                                         : nullptr;
    if (object == nullptr || object != root.object.get()) return Result::kOtherRoots;
  }
  changed = kNone;
  if (!all_hold(changed)) return Result::kChanged;
  for (const auto& [tensor, facts] : tensors_) {
    if (!facts.match(tensor)) return Result::kFails;
  }
  for (const auto& [place, value] : registers_) context.registers[place] = value;
  for (const GuardStep& step : steps_) {
    if (!step.run(step, context)) return Result::kFails;
  }
  return Result::kPasses;
}

}  // namespace triptych::capture
