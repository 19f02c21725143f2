// Guards as a flat program: loads into registers, one per source, and checks, in the order in which
// the trace made them. It names no Python code: what it reads cannot run any.
//
//     L['self'].training is False, L['x'] is a float32 tensor of [2, 8]:
//       r0 = slot 0                       r4 = slot 1
//       type of r0 is Model               r4 is a tensor of those facts
//       r1 = instance dict of r0
//       r2 = item 'training' of r1
//       r2 equals False
#pragma once

#include <Python.h>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/guards/check_steps.h"
#include "capture/guards/guard.h"
#include "capture/guards/guard_step.h"
#include "capture/guards/source.h"
#include "capture/guards/version_memo.h"
#include "support/result.h"

namespace triptych::capture {

// Why a program refused a call.
struct GuardFailure {
  std::string text;        // "L['self'].training changed: True -> False"
  std::string location;    // "file:line" of the read, when known
  bool is_memory = false;  // tensors share memory that may not
};

class GuardProgram {
 public:
  // `exports` are the sources whose values the caller wants after a check that passes.
  static Result<std::unique_ptr<GuardProgram>> compile(std::shared_ptr<const SourceArena> sources,
                                                       GuardSet guards,
                                                       std::span<const SourceId> exports);

  // The context's slots, stack, function and state are the caller's; registers and symbols are
  // ours. On success `exported` has a borrowed reference per export (null where nothing is), valid
  // until code runs.
  bool check(GuardContext& context, std::vector<PyObject*>& exported) const;

  // Of a call that was refused. "" when it would pass now.
  GuardFailure explain(GuardContext& context) const;
  // It will never hold again: classes were registered since.
  bool is_outdated() const;

  // Where sizes of tensors and integers are others than they were: what the next capture may take
  // as symbols. (Source text, dimension or InputSymbol::kInteger.)
  std::set<std::pair<std::string, int>> changed_numbers(GuardContext& context) const;

  // Each time a short-cut is taken, the program is run all the same and must agree.
  void set_strict(bool strict) { strict_ = strict; }

  std::size_t register_count() const { return register_sources_.size(); }
  SourceId register_source(std::uint32_t place) const { return register_sources_[place]; }
  std::uint32_t register_of(SourceId source) const { return register_of_source_[source.index]; }
  const std::vector<std::uint32_t>& export_registers() const { return exports_; }
  std::uint64_t shortcuts() const { return shortcuts_; }  // checks that a memo answered
  // Of the newest memo: versions compared, and steps that are run all the same.
  std::pair<std::size_t, std::size_t> shortcut_size() const;
  const std::vector<GuardStep>& steps() const { return steps_; }
  const SourceArena& sources() const { return *sources_; }
  const GuardSet& guards() const { return guards_; }
  // One line per guard.
  std::vector<std::string> texts() const;

 private:
  friend class GuardCompiler;
  GuardProgram() = default;

  bool check_by_memo(GuardContext& context, bool& passes) const;
  void remember(const GuardContext& context) const;
  // Runs until a step fails; its index, or the number of steps.
  std::size_t run(GuardContext& context) const;
  void add_changes(const Guard& guard, PyObject* value,
                   std::set<std::pair<std::string, int>>& changes) const;
  std::string failure_text(const GuardStep& step, const GuardContext& context) const;
  std::string check_failure_text(const Guard& guard, const GuardContext& context) const;

  std::shared_ptr<const SourceArena> sources_;
  GuardSet guards_;
  std::vector<GuardStep> steps_;
  StepData data_;
  std::vector<SourceId> register_sources_;
  std::vector<std::uint32_t> register_of_source_;
  std::vector<std::uint32_t> exports_;  // registers
  std::size_t symbol_count_ = 0;
  bool strict_ = false;

  // Changes with the GIL held, and while nothing can run.
  mutable std::vector<VersionMemo> memos_;
  mutable std::vector<std::uint8_t> dict_changes_;  // of registers with dictionaries
  mutable int recordings_ = 0;
  mutable std::uint64_t shortcuts_ = 0;
};

// A guard in words: "L['x']: float32[2, 8]".
std::string guard_text(const Guard& guard, const SourceArena& sources);

}  // namespace triptych::capture
