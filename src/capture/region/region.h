// A captured and compiled function: a Python object whose call binds the arguments as CPython
// would, takes the first entry whose guards hold, and makes no frame. Without such an entry the
// call is captured; where that fails, or too many entries exist, CPython runs the function.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/region/entry.h"
#include "capture/region/entry_table.h"
#include "capture/region/region_host.h"
#include "capture/region/segments.h"

namespace triptych::capture {

struct RegionOptions {
  std::size_t max_entries = 8;
  bool strict = false;          // bugs of the compiler are raised
  bool fullgraph = false;       // what cannot be captured as one graph is raised
  std::optional<bool> dynamic;  // sizes are symbols: at once, never, or when they changed
  // The function is the `forward` of `self`, an nn.Module: entries also guard that calling the
  // module would do nothing else.
  bool is_module = false;
  // Of kGuardNames: guards that are left out, to prove that something needs them. Only for tests.
  std::size_t without_guards = kGuardNames.size();
};

class Region {
 public:
  // `self` goes before the arguments of each call; null: none.
  Region(Owned function, Owned self, RegionOptions options, std::unique_ptr<RegionHost> host);

  // Called in place of a module that has hooks; without one the module itself is.
  void set_hooked_call(Owned callable) { hooked_call_ = std::move(callable); }

  PyObject* call(PyObject* const* arguments, Py_ssize_t positional, PyObject* keyword_names);

  // Seconds that finding the entry of such a call takes, on average; negative when none fits.
  double time_dispatch(PyObject* const* arguments, Py_ssize_t positional, int times);

  PyObject* function() const { return function_.get(); }
  PyObject* self() const { return self_.get(); }
  const EntryTable& entries() const { return entries_; }
  const SegmentTable& segments() const { return segments_; }
  std::uint64_t eager_calls() const { return eager_calls_; }
  void reset();
  int traverse(visitproc visit, void* arg) const;

 private:
  PyObject* call_bound(PyObject* const* arguments, Py_ssize_t positional, PyObject* keyword_names);
  PyObject* call_eagerly(PyObject* const* arguments, Py_ssize_t positional,
                         PyObject* keyword_names);
  PyObject* finish(RegionEnd end);

  Owned function_;
  Owned self_;
  Owned hooked_call_;
  std::unique_ptr<RegionHost> host_;
  RegionOptions options_;
  EntryTable entries_;
  SegmentTable segments_;
  std::uint64_t eager_calls_ = 0;
};

// A new reference to a callable Python object.
PyObject* make_region_object(std::unique_ptr<Region> region);
// The region of such an object; null for others.
Region* region_of(PyObject* object);
// Creates the type; null with an exception set. Called once.
PyTypeObject* region_type();

}  // namespace triptych::capture
