#include "capture/trace/journal.h"

#include <utility>

namespace triptych::capture {
namespace {

Owned copy_of(PyObject* container) {
  if (PyODict_Check(container)) {
    Owned copy = Owned::steal(PyODict_New());
    if (copy && !replace_items(copy.get(), container)) return {};
    return copy;
  }
  if (PyDict_Check(container)) {
    // A subclass's own methods are not asked: its order may be kept elsewhere.
    Owned copy = Owned::steal(PyDict_New());
    if (copy && PyDict_Update(copy.get(), container) < 0) return {};
    return copy;
  }
  if (PyList_Check(container)) return Owned::steal(PyList_GetSlice(container, 0, PY_SSIZE_T_MAX));
  if (PyAnySet_Check(container)) return Owned::steal(PySet_New(container));
  return Owned::copy(PyCell_GET(container));
}

void restore(PyObject* container, PyObject* before) {
  if (PyDict_Check(container)) {
    replace_items(container, before);
  } else if (PyList_Check(container)) {
    PyList_SetSlice(container, 0, PY_SSIZE_T_MAX, before);
  } else if (PyAnySet_Check(container)) {
    const Owned all = Owned::steal(PySet_New(container));
    PySet_Clear(container);
    const Owned iterator = Owned::steal(PyObject_GetIter(before));
    while (Owned item = Owned::steal(PyIter_Next(iterator.get()))) {
      PySet_Add(container, item.get());
    }
  } else {
    PyCell_Set(container, before);
  }
}

}  // namespace

Owned slot_value(PyObject* object, PyObject* slot) {
  Owned value = Owned::steal(
      Py_TYPE(slot)->tp_descr_get(slot, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return value;
}

bool replace_items(PyObject* dict, PyObject* with) {
  if (!PyODict_Check(dict)) {
    PyDict_Clear(dict);
    return PyDict_Update(dict, with) == 0;
  }
  // The base class' own functions: a subclass's are not asked.
  auto* const type = reinterpret_cast<PyObject*>(&PyODict_Type);
  const Owned keys =
      Owned::steal(PyODict_Check(with) ? PyODict_Type.tp_iter(with) : PyDict_Type.tp_iter(with));
  const Owned list = keys ? Owned::steal(PySequence_List(keys.get())) : Owned();
  if (!list || !Owned::steal(PyObject_CallMethod(type, "clear", "O", dict))) return false;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list.get()); ++k) {
    PyObject* key = PyList_GET_ITEM(list.get(), k);
    PyObject* value = PyDict_GetItemWithError(with, key);
    if (value == nullptr || PyODict_SetItem(dict, key, value) < 0) return false;
  }
  return true;
}

void Journal::add(Entry entry) {
  index_[{entry.container.get(), entry.slot.get()}] = entries_.size();
  entries_.push_back(std::move(entry));
}

bool Journal::keep_slot(PyObject* object, PyObject* slot, SourceId source) {
  if (written_slot(object, slot)) return true;
  Entry entry;
  entry.container = Owned::copy(object);
  entry.slot = Owned::copy(slot);
  entry.source = source;
  entry.before = slot_value(object, slot);
  if (PyErr_Occurred()) return false;
  add(std::move(entry));
  return true;
}

bool Journal::keep(PyObject* container, SourceId source) {
  if (written(container)) return true;
  Entry entry;
  entry.container = Owned::copy(container);
  entry.source = source;
  entry.before = copy_of(container);
  if (PyErr_Occurred()) return false;
  if (PyDict_Check(container)) entry.keys = Owned::steal(PyDict_New());
  add(std::move(entry));
  return true;
}

bool Journal::note_key(PyObject* dict, PyObject* key, bool deletes) {
  Entry& entry = entries_[index_.at({dict, nullptr})];
  if (!entry.keys) return true;
  if (deletes) return PyDict_SetItem(entry.keys.get(), key, Py_True) == 0;
  return PyDict_SetDefault(entry.keys.get(), key, Py_False) != nullptr;
}

bool Journal::note_all(PyObject* dict) {
  entries_[index_.at({dict, nullptr})].keys = Owned();
  return true;
}

bool Journal::written(PyObject* dict, PyObject* key) const {
  const auto found = index_.find({dict, nullptr});
  if (found == index_.end()) return false;
  const Entry& entry = entries_[found->second];
  if (!entry.keys) return true;
  const int inside = PyDict_Contains(entry.keys.get(), key);
  if (inside < 0) PyErr_Clear();
  return inside > 0;
}

PyObject* Journal::before(PyObject* container) const {
  const auto found = index_.find({container, nullptr});
  return found == index_.end() ? nullptr : entries_[found->second].before.get();
}

void Journal::roll_back() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->slot) {
      Py_TYPE(entry->slot.get())
          ->tp_descr_set(entry->slot.get(), entry->container.get(), entry->before.get());
    } else {
      restore(entry->container.get(), entry->before.get());
    }
  }
  PyErr_Clear();
  entries_.clear();
  index_.clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace triptych::capture
