// The entries of one place in a program, and how new ones come about: what a call that no entry
// takes leads to. One table for a region's start, one for each position behind a break.
#pragma once

#include <Python.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/region/entry.h"
#include "capture/region/region_host.h"

namespace triptych::capture {

struct RegionOptions;

class EntryTable {
 public:
  using Entries = std::vector<std::shared_ptr<const Entry>>;

  // The first entry whose guards hold, with its values; null: none.
  std::shared_ptr<const Entry> find(GuardContext& context, std::vector<PyObject*>& values);

  // Captures what starts at `state`, for this call and those like it. Null: run eagerly, or, with
  // an exception set, not at all. `values` are those of the new entry.
  std::shared_ptr<const Entry> add(GuardContext& context, FrameState state,
                                   const RegionOptions& options, RegionHost& host,
                                   std::vector<PyObject*>& values);

  const Entries& entries() const { return *entries_; }
  bool is_full() const { return full_; }
  void reset();
  int traverse(visitproc visit, void* arg) const;

 private:
  std::shared_ptr<const Entry> fail(const Error& error, const RegionOptions& options,
                                    RegionHost& host);
  bool may_capture();
  void drop_outdated();
  void note_misses(GuardContext& context, const RegionOptions& options, RegionHost& host);
  Result<std::shared_ptr<Entry>> capture(GuardContext& context, FrameState state,
                                         const RegionOptions& options, RegionHost& host);

  // Never changed, only replaced: a call that runs code may see it replaced meanwhile.
  std::shared_ptr<const Entries> entries_ = std::make_shared<const Entries>();
  std::set<std::pair<std::string, int>> symbolic_;
  int failures_ = 0;
  bool full_ = false;
  bool ran_eagerly_ = false;  // the call before the first capture, where the stance asks for it
};

// Whether this thread is inside a capture: what it calls is part of that.
bool is_capturing();

}  // namespace triptych::capture
