// What a trace writes into objects that were there before. Writes are done for real; the old
// content is kept at the first one and put back when the trace ends.
#pragma once

#include <Python.h>

#include <unordered_map>
#include <vector>

#include "capture/guards/source.h"
#include "capture/interpreter/reference.h"

namespace triptych::capture {

class Journal {
 public:
  struct Entry {
    Owned container;  // a dict (an instance's too), list, set or cell
    SourceId source;
    Owned before;  // a copy; null for an empty cell
    Owned keys;    // of a dict: a dict of those written, in order; null: all
  };

  // Before the first write and any other. False: an exception is set.
  bool keep(PyObject* container, SourceId source);
  bool note_key(PyObject* dict, PyObject* key);
  bool note_all(PyObject* dict);  // a write whose keys are not known
  // A read of it sees what the trace has written: nothing of the outside.
  bool written(PyObject* container) const { return index_.contains(container); }
  bool written(PyObject* dict, PyObject* key) const;
  PyObject* before(PyObject* container) const;  // its old content; null: it was not written

  const std::vector<Entry>& entries() const { return entries_; }
  void roll_back();

 private:
  std::vector<Entry> entries_;
  std::unordered_map<PyObject*, std::size_t> index_;
};

}  // namespace triptych::capture
