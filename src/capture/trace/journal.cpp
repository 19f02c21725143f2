#include "capture/trace/journal.h"

#include <utility>

namespace triptych::capture {
namespace {

Owned copy_of(PyObject* container) {
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
    PyDict_Clear(container);
    PyDict_Update(container, before);
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

bool Journal::keep(PyObject* container, SourceId source) {
  if (index_.contains(container)) return true;
  Entry entry;
  entry.container = Owned::copy(container);
  entry.source = source;
  entry.before = copy_of(container);
  if (PyErr_Occurred()) return false;
  if (PyDict_Check(container)) entry.keys = Owned::steal(PyDict_New());
  index_[container] = entries_.size();
  entries_.push_back(std::move(entry));
  return true;
}

bool Journal::note_key(PyObject* dict, PyObject* key) {
  Entry& entry = entries_[index_.at(dict)];
  return !entry.keys || PyDict_SetItem(entry.keys.get(), key, Py_None) == 0;
}

bool Journal::note_all(PyObject* dict) {
  entries_[index_.at(dict)].keys = Owned();
  return true;
}

bool Journal::written(PyObject* dict, PyObject* key) const {
  const auto found = index_.find(dict);
  if (found == index_.end()) return false;
  const Entry& entry = entries_[found->second];
  if (!entry.keys) return true;
  const int inside = PyDict_Contains(entry.keys.get(), key);
  if (inside < 0) PyErr_Clear();
  return inside > 0;
}

PyObject* Journal::before(PyObject* container) const {
  const auto found = index_.find(container);
  return found == index_.end() ? nullptr : entries_[found->second].before.get();
}

void Journal::roll_back() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    restore(entry->container.get(), entry->before.get());
  }
  PyErr_Clear();
  entries_.clear();
  index_.clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace triptych::capture
