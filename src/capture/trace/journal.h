// What a trace writes into objects that were there before. Writes are done for real; the old
// content is kept at the first one and put back when the trace ends.
#pragma once

#include <Python.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/guards/source.h"
#include "capture/interpreter/reference.h"

namespace triptych::capture {

class Journal {
 public:
  struct Entry {
    Owned container;  // a dict (an instance's too), list, set or cell; or an object with slots
    Owned slot;       // the descriptor of the slot that was written; null: a container
    SourceId source;
    Owned before;  // a copy; null for an empty cell or slot
    Owned keys;    // of a dict: those written, in order, with whether they were deleted; null: all
  };

  // Before the first write and any other. False: an exception is set.
  bool keep(PyObject* container, SourceId source);
  bool keep_slot(PyObject* object, PyObject* slot, SourceId source);
  bool note_key(PyObject* dict, PyObject* key, bool deletes);
  bool note_all(PyObject* dict);  // a write whose keys are not known
  // A read of it sees what the trace has written: nothing of the outside.
  bool written(PyObject* container) const { return index_.contains({container, nullptr}); }
  bool written(PyObject* dict, PyObject* key) const;
  bool written_slot(PyObject* object, PyObject* slot) const {
    return index_.contains({object, slot});
  }
  PyObject* before(PyObject* container) const;  // its old content; null: it was not written

  const std::vector<Entry>& entries() const { return entries_; }
  void roll_back();

 private:
  struct Place {
    PyObject* object;
    PyObject* slot;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Hash {
    std::size_t operator()(const Place& place) const {
      const auto mixed = reinterpret_cast<std::uintptr_t>(place.slot) * 0x9e3779b97f4a7c15ULL;
      return (reinterpret_cast<std::uintptr_t>(place.object) >> 4) ^ mixed;
    }
  };

  void add(Entry entry);

  std::vector<Entry> entries_;
  std::unordered_map<Place, std::size_t, Hash> index_;
};

// What a slot of an object holds; null without an exception: nothing.
Owned slot_value(PyObject* object, PyObject* slot);
// Makes a dict's content that of another, in its order; an OrderedDict has an order of its own.
bool replace_items(PyObject* dict, PyObject* with);

}  // namespace triptych::capture
