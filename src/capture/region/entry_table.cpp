#include "capture/region/entry_table.h"

#include <algorithm>

#include "capture/guards/load_steps.h"
#include "capture/guards/tensor_facts.h"
#include "capture/region/handled_exception.h"
#include "capture/region/module_call.h"
#include "capture/region/region.h"
#include "capture/region/stance.h"

namespace triptych::capture {
namespace {

constexpr int kMostFailures = 3;     // captures that fail one after the other before none is tried
constexpr std::uint64_t kLead = 16;  // hits by which a later entry must be ahead to go first

thread_local bool capturing = false;

class CapturingScope {
 public:
  CapturingScope() { capturing = true; }
  ~CapturingScope() { capturing = false; }
  CapturingScope(const CapturingScope&) = delete;
  CapturingScope& operator=(const CapturingScope&) = delete;
};

FrameState copy_of(const FrameState& state) {
  FrameState copy;
  copy.function = Owned::copy(state.function.get());
  copy.locals_mapping = Owned::copy(state.locals_mapping.get());
  for (const Owned& value : state.slots) copy.slots.push_back(Owned::copy(value.get()));
  for (const Owned& value : state.stack) copy.stack.push_back(Owned::copy(value.get()));
  copy.unit = state.unit;
  return copy;
}

// The dimensions in a set that torch._dynamo.mark_dynamic, mark_static, ... left on a tensor.
std::vector<int> marked(PyObject* tensor, const char* mark) {
  std::vector<int> dimensions;
  PyObject* const dict = instance_dict(tensor);
  PyObject* const set = dict == nullptr ? nullptr : PyDict_GetItemString(dict, mark);
  const Owned items = Owned::steal(set == nullptr ? nullptr : PySequence_List(set));
  for (Py_ssize_t k = 0; items && k < PyList_GET_SIZE(items.get()); ++k) {
    const long dimension = PyLong_AsLong(PyList_GET_ITEM(items.get(), k));
    if (!PyErr_Occurred()) dimensions.push_back(static_cast<int>(dimension));
  }
  PyErr_Clear();
  return dimensions;
}

// What the program says of the sizes of its arguments goes before what changed.
void follow_marks(CaptureRequest& request, const PyCodeObject* code) {
  SourceArena sources = SourceArena::of_code(const_cast<PyCodeObject*>(code));
  for (std::size_t k = 0; k < request.state.slots.size(); ++k) {
    PyObject* const value = request.state.slots[k].get();
    if (value == nullptr || !is_tensor_type(Py_TYPE(value))) continue;
    const std::string text = sources.text(sources.slot(static_cast<int>(k)));
    for (const char* mark : {"_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices"}) {
      for (const int d : marked(value, mark)) request.symbolic.emplace(text, d);
    }
    for (const int d : marked(value, "_dynamo_static_indices")) request.symbolic.erase({text, d});
  }
}

void leave_out(GuardSet& set, std::size_t kind) {
  if (kind + 1 == kGuardNames.size()) return set.relations.clear();
  std::erase_if(set.guards,
                [&](const Guard& guard) { return static_cast<std::size_t>(guard.kind) == kind; });
}

Error break_error(const Break& stop) {
  const char* what = stop.code == "break.data" ? "on data-dependent values: " : "";
  return unsupported(stop.code, "fullgraph=True, but the graph breaks: " + (what + stop.message),
                     stop.location, stop.hint);
}

}  // namespace

bool is_capturing() { return capturing; }

std::shared_ptr<const Entry> EntryTable::find(GuardContext& context,
                                              std::vector<PyObject*>& values) {
  const Entries& entries = *entries_;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const Entry& entry = *entries[k];
    if (!entry.check(context, values)) continue;
    ++entry.hits;
    std::shared_ptr<const Entry> found = entries[k];
    const bool may_lead = k > 0 && (!entry.is_empty() || entries[k - 1]->is_empty());
    if (may_lead && entry.hits > entries[k - 1]->hits + kLead) {
      auto reordered = std::make_shared<Entries>(entries);
      std::swap((*reordered)[k], (*reordered)[k - 1]);
      entries_ = std::move(reordered);
    }
    return found;
  }
  return nullptr;
}

void EntryTable::drop_outdated() {
  auto kept = std::make_shared<Entries>(*entries_);
  std::erase_if(*kept, [](const auto& entry) { return entry->guards().is_outdated(); });
  if (kept->size() != entries_->size()) entries_ = std::move(kept);
}

void EntryTable::note_misses(GuardContext& context, const RegionOptions& options,
                             RegionHost& host) {
  const std::shared_ptr<const Entries> entries = entries_;
  if (entries->empty()) return;
  std::vector<GuardFailure> reasons;
  for (const auto& entry : *entries) {
    reasons.push_back(entry->guards().explain(context));
    if (options.dynamic == false) continue;
    symbolic_.merge(entry->guards().changed_numbers(context));
  }
  host.recompiles(reasons);
}

Result<std::shared_ptr<Entry>> EntryTable::capture(GuardContext& context, FrameState state,
                                                   const RegionOptions& options, RegionHost& host) {
  CaptureRequest request;
  request.state = std::move(state);
  const auto* code =
      reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(request.state.function.get()));
  request.symbolic = symbolic_;
  request.all_sizes_symbolic = options.dynamic == true;
  if (request.state.unit == 0) follow_marks(request, code);
  CapturingScope scope;
  const HandledExceptionKept handled;
  TRIPTYCH_TRY(CaptureResult captured, host.capture(request));
  if (captured.stop && options.fullgraph) return break_error(*captured.stop);
  if (options.is_module) guard_module_call(captured, request.state);
  if (options.without_guards < kGuardNames.size())
    leave_out(captured.guards, options.without_guards);
  TRIPTYCH_TRY(std::shared_ptr<Entry> entry, Entry::make(std::move(captured), options.strict));
  std::vector<PyObject*> values;
  if (!entry->check(context, values)) {
    const GuardFailure failure = entry->guards().explain(context);
    if (failure.is_memory) {
      return unsupported("capture.overlapping_inputs",
                         "a tensor is written that shares memory with another: " + failure.text);
    }
    return internal_error("capture.guards",
                          "a guard fails on the call that it was made for: " + failure.text);
  }
  if (!entry->has_nodes()) return entry;
  std::vector<Owned> held;
  for (PyObject* value : values) held.push_back(Owned::copy(value));
  TRIPTYCH_TRY(Owned graph,
               host.compile(entry->captured(), entry->guards(), entry->inputs(values)));
  entry->set_graph(std::move(graph));
  entry->drop_nodes();
  return entry;
}

std::shared_ptr<const Entry> EntryTable::fail(const Error& error, const RegionOptions& options,
                                              RegionHost& host) {
  if (error.kind == ErrorKind::kUser && PyErr_Occurred() != nullptr) return nullptr;
  PyErr_Clear();
  const bool raised = (error.kind == ErrorKind::kInternal && options.strict) ||
                      (error.kind == ErrorKind::kUnsupported &&
                       (options.fullgraph || error.code == kBreakThatRaises));
  if (raised) {
    host.raise(error);
    return nullptr;
  }
  // Another thread's capture says nothing about this code.
  if (error.code == "capture.scope") return nullptr;
  // Nor does a mode that is active at this call, or a tool.
  const bool counts = error.code != "capture.mode" && error.code != "break.watched";
  if (counts && ++failures_ >= kMostFailures) full_ = true;
  host.runs_eagerly(error);
  return nullptr;
}

// False: the stance of the process wants the call eager, or an error, which is set.
bool EntryTable::may_capture() {
  switch (current_stance()) {
    case Stance::kDefault:
      return true;
    case Stance::kEagerThenCompile:
      return std::exchange(ran_eagerly_, true);
    case Stance::kForceEager:
    case Stance::kEagerOnRecompile:
      return false;
    case Stance::kFailOnRecompile:
      PyErr_SetString(PyExc_RuntimeError,
                      "triptych: no compiled form fits this call, and the stance is "
                      "'fail_on_recompile'");
      return false;
  }
  return true;
}

std::shared_ptr<const Entry> EntryTable::add(GuardContext& context, FrameState state,
                                             const RegionOptions& options, RegionHost& host,
                                             std::vector<PyObject*>& values) {
  if (full_ || !may_capture()) return nullptr;
  if (entries_->size() >= options.max_entries) drop_outdated();
  if (entries_->size() >= options.max_entries) {
    full_ = true;
    const GuardFailure last = entries_->front()->guards().explain(context);
    host.runs_eagerly(
        unsupported("capture.too_many_entries",
                    std::to_string(entries_->size()) +
                        " compiled forms exist and none fits; the last reason: " + last.text,
                    last.location, "raise the option max_entries, or keep what changed the same"));
    return nullptr;
  }
  note_misses(context, options, host);
  Result<std::shared_ptr<Entry>> made = [&]() -> Result<std::shared_ptr<Entry>> {
    try {
      return capture(context, copy_of(state), options, host);
    } catch (const std::exception& error) {  // must not go through frames of CPython
      return internal_error("capture.exception", error.what());
    }
  }();
  if (!made.ok()) return fail(made.error(), options, host);
  std::shared_ptr<Entry> entry = std::move(made).value();
  failures_ = 0;
  if (entry->has_break()) host.breaks(*entry->captured().stop);
  auto entries = std::make_shared<Entries>(*entries_);
  entries->insert(entry->is_empty() ? entries->end() : entries->begin(), entry);
  entries_ = std::move(entries);
  // Compiling ran code: what the guards read is read again.
  if (!entry->check(context, values)) return nullptr;
  ++entry->hits;
  return entry;
}

void EntryTable::reset() {
  entries_ = std::make_shared<const Entries>();
  symbolic_.clear();
  failures_ = 0;
  full_ = ran_eagerly_ = false;
}

int EntryTable::traverse(visitproc visit, void* arg) const {
  for (const auto& entry : *entries_) {
    if (const int result = entry->traverse(visit, arg); result != 0) return result;
  }
  return 0;
}

}  // namespace triptych::capture
