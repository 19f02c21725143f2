// One captured and compiled form of a region, and the guards under which it stands for the program.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/guards/guard_program.h"
#include "capture/interpreter/frame_entry.h"
#include "capture/interpreter/reference.h"
#include "capture/region/capture_result.h"
#include "support/result.h"

namespace triptych::capture {

// How a region ended: with a result, with a frame that is to go on, with nothing done (its graph
// raised, and the program itself is to run), or with an exception that is set.
struct RegionEnd {
  Owned result;
  std::optional<FrameState> frame;
  bool program_runs = false;
  bool failed() const { return !result && !frame && !program_runs; }
};

class RegionHost;

class Entry {
 public:
  // Takes the result over. With `strict`, short-cuts past the guards are proven at each call.
  static Result<std::shared_ptr<Entry>> make(CaptureResult captured, bool strict);
  void set_graph(Owned graph) { graph_ = std::move(graph); }

  // Fills `values` with borrowed references when the guards hold.
  bool check(GuardContext& context, std::vector<PyObject*>& values) const {
    return guards_->check(context, values);
  }
  // `values` are those of the check that has just passed. `function` is the frame's, for one that
  // is to go on.
  RegionEnd run(const std::vector<PyObject*>& values, PyObject* function, RegionHost& host) const;
  // Of those values the graph's inputs.
  std::span<PyObject* const> inputs(const std::vector<PyObject*>& values) const {
    return std::span(values).first(captured_.inputs.size());
  }

  const GuardProgram& guards() const { return *guards_; }
  const CaptureResult& captured() const { return captured_; }  // without sources and guards
  bool has_nodes() const { return has_nodes_; }
  // Lets go of the nodes and of the fakes, once the graph is compiled.
  void drop_nodes();
  bool has_break() const { return captured_.stop.has_value(); }
  // It breaks before anything was done: few guards, and nothing gained. All others go first.
  bool is_empty() const { return has_break() && !has_nodes_ && captured_.effects.empty(); }
  int traverse(visitproc visit, void* arg) const;

  mutable std::uint64_t hits = 0;  // changes with the GIL held

 private:
  Entry() = default;

  // How the result is had from the graph's outputs.
  enum class Shape : unsigned char {
    kOneOutput,   // it is one of them
    kAllOutputs,  // a tuple of all, as the graph returns them
    kRecipes,
  };
  Shape shape_of_result() const;
  RegionEnd finish(std::span<PyObject* const> outputs, std::span<PyObject* const> values,
                   PyObject* function) const;

  CaptureResult captured_;
  std::unique_ptr<GuardProgram> guards_;
  Owned graph_;
  std::vector<std::uint32_t> source_of_recipe_;  // the place among the values; kNone: no source
  Shape shape_ = Shape::kRecipes;
  bool has_nodes_ = false;
  bool changes_state_ = false;  // inputs, or generators of random numbers
};

}  // namespace triptych::capture
