// What happens behind a graph break. The frame goes on where the break is: the instruction there
// runs as in Python, and from the next boundary on the rest of the frame is captured as a segment,
// which ends with a result or at the next break. Frames that the program enters meanwhile are
// captured on their own in the same way.
//
//     y = x.relu()          the region's own entry
//     print(y.shape)        a break: the call runs as it is
//     return y.sin()        a segment: guards over variables and operands, a graph, a result
#pragma once

#include <Python.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "capture/interpreter/observer.h"
#include "capture/region/entry_table.h"
#include "capture/region/region_host.h"

namespace triptych::capture {

struct RegionOptions;

// The segments of one position in some code.
struct Segment {
  EntryTable entries;
  int idle = 0;         // captures that got nowhere
  bool native = false;  // not worth its guards: CPython runs the frame from here on
};

// All segments of a region, by code object and position.
class SegmentTable {
 public:
  // Null when the code has too many.
  std::shared_ptr<Segment> at(PyCodeObject* code, int unit);
  const std::map<std::pair<PyCodeObject*, int>, std::shared_ptr<Segment>>& all() const {
    return segments_;
  }
  void clear();
  int traverse(visitproc visit, void* arg) const;

 private:
  // A call in progress keeps its segment.
  std::map<std::pair<PyCodeObject*, int>, std::shared_ptr<Segment>> segments_;
  std::map<PyCodeObject*, int> counts_;
  std::vector<Owned> codes_;  // alive as long as they are keys
};

// Runs a frame from a break on, as part of the program: its result. Null: an exception is set.
Owned run_from_break(FrameState state, SegmentTable& segments, const RegionOptions& options,
                     RegionHost& host);

}  // namespace triptych::capture
