#include "capture/region/segments.h"

#include <cstring>

#include "capture/guards/plain_value.h"
#include "capture/guards/state_word.h"
#include "capture/guards/tensor_facts.h"
#include "capture/interpreter/call_site.h"
#include "capture/interpreter/evaluator.h"
#include "capture/region/call_buffers.h"
#include "capture/region/handled_exception.h"
#include "capture/region/region.h"

namespace triptych::capture {
namespace {

constexpr int kMostSegments = 64;  // of one code object
constexpr int kMostIdle = 2;       // captures without progress before an instruction simply runs

bool is_torch_module(PyObject* object) {
  static PyObject* const type = [] {
    const Owned module = Owned::steal(PyImport_ImportModule("torch.nn"));
    Owned found = Owned::steal(module ? PyObject_GetAttrString(module.get(), "Module") : nullptr);
    PyErr_Clear();
    return found.release();
  }();
  return type != nullptr &&
         PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type));
}

bool holds_tensor(PyObject* object, int depth = 1) {
  if (is_tensor_type(Py_TYPE(object)) || is_torch_module(object)) return true;
  if (depth == 0 || !(PyTuple_Check(object) || PyList_Check(object))) return false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k) {
    if (holds_tensor(PySequence_Fast_GET_ITEM(object, k), depth - 1)) return true;
  }
  return false;
}

// What a comprehension, lambda or inner function has of the function around it.
bool closure_holds_tensor(const PyFunctionObject* function) {
  PyObject* const cells = function->func_closure;
  for (Py_ssize_t k = 0; cells != nullptr && k < PyTuple_GET_SIZE(cells); ++k) {
    PyObject* const value = PyCell_GET(PyTuple_GET_ITEM(cells, k));
    if (value != nullptr && holds_tensor(value)) return true;
  }
  return false;
}

const std::string& standard_library() {
  static const std::string folder = [] {
    const Owned module = Owned::steal(PyImport_ImportModule("os"));
    const Owned file = Owned::steal(module ? PyModule_GetFilenameObject(module.get()) : nullptr);
    std::string path = file ? utf8(file.borrow()) : std::string();
    PyErr_Clear();
    return path.substr(0, path.rfind('/') + 1);
  }();
  return folder;
}

// The code of Python's and torch's own runs as it is, but for the forwards of torch's modules.
bool is_library_code(const PyCodeObject* code) {
  const std::string file = utf8(code->co_filename);
  const auto has = [&](const char* part) { return file.find(part) != std::string::npos; };
  if (file.starts_with(standard_library()) && !has("-packages/")) return true;
  if (has("/torch/nn/modules/")) return has("/torch/nn/modules/module.py");
  return has("/torch/") || has("/triptych/") || has("<frozen") || has("<eval_with_key>");
}

bool is_plain_frame(const Frame& frame) {
  constexpr int kResumable = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const int flags = frame.code()->co_flags;
  return (flags & kResumable) == 0 && (flags & CO_OPTIMIZED) != 0 && (flags & CO_NEWLOCALS) != 0 &&
         !frame.owned_by_generator();
}

bool is_of_dynamo(const PyCodeObject* code) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (file == nullptr) PyErr_Clear();
  return file != nullptr && std::strstr(file, "/torch/_dynamo/") != nullptr;
}

// A call of what `torch.compiler.disable` was given, or of what another compiler has made, runs as
// it is, with all that it calls.
bool is_disabled(PyObject* callable) {
  PyObject* target = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
  if (!PyFunction_Check(target)) return false;
  if (is_of_dynamo(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(target)))) return true;
  PyObject* const dict = reinterpret_cast<PyFunctionObject*>(target)->func_dict;
  return dict != nullptr && PyDict_GetItemString(dict, "_torchdynamo_disable") == Py_True;
}

class SegmentRunner final : public Observer {
 public:
  SegmentRunner(SegmentTable& segments, RegionOptions options, RegionHost& host)
      : segments_(segments), options_(options), host_(host) {
    options_.is_module = false;  // a frame's first variable is whatever it is
  }

  bool enter(const Frame& frame) override {
    if (std::exchange(is_first_, false)) return true;
    if (is_of_interest(frame)) return true;
    const bool of_dynamo = is_of_dynamo(frame.code());  // a disabled function may lie deep in torch
    native_depth_ += of_dynamo ? 1 : 0;
    declined_.push_back(of_dynamo);
    return false;
  }
  void declined_left() override {
    native_depth_ -= declined_.back() ? 1 : 0;
    declined_.pop_back();
  }

  bool is_of_interest(const Frame& frame) {
    if (native_depth_ > 0 || !is_plain_frame(frame) || is_library_code(frame.code())) return false;
    if (!can_import(frame.builtins())) return false;  // nor could we, in its place
    for (int k = 0; k < frame.slot_count(); ++k) {
      PyObject* const value = frame.slots()[k];
      if (value != nullptr && holds_tensor(value)) return true;
    }
    return closure_holds_tensor(frame.function());
  }

  Choice at_boundary(Activation& activation, const Instruction& instruction) override;
  Flow execute(Activation& activation, const Instruction& instruction) override;

 private:
  Choice apply(Activation& activation, const Instruction& instruction, Segment& segment,
               RegionEnd end);
  bool can_start(Activation& activation) const;

  SegmentTable& segments_;
  RegionOptions options_;
  RegionHost& host_;
  bool is_first_ = true;
  std::vector<bool> declined_;  // frames that run natively, the innermost last: of Dynamo?
  int native_depth_ = 0;        // what runs is no part of the program, or must not be captured
  bool raised_ = false;         // a segment has set an exception
};

// A handler's frame holds what it handles on its stack and in the thread: such code is not entered
// or left in one step.
bool SegmentRunner::can_start(Activation& activation) const {
  const Owned handled = Owned::steal(PyErr_GetHandledException());
  return (!handled || handled.get() == Py_None) && can_be_copied(activation.frame());
}

FrameState state_of(Activation& activation, int unit) {
  FrameState state;
  Frame& frame = activation.frame();
  state.function = Owned::copy(reinterpret_cast<PyObject*>(frame.function()));
  for (int k = 0; k < frame.slot_count(); ++k) {
    state.slots.push_back(Owned::copy(frame.slots()[k]));
  }
  for (int k = 0; k < activation.depth(); ++k) {
    state.stack.push_back(Owned::copy(frame.stack()[k]));
  }
  state.unit = unit;
  return state;
}

Choice SegmentRunner::at_boundary(Activation& activation, const Instruction& instruction) {
  if (native_depth_ > 0) return Choice::kInterpret;
  if (kOpLeaves[static_cast<int>(instruction.op)] || !can_start(activation)) {
    return Choice::kInterpret;
  }
  const std::shared_ptr<Segment> segment = segments_.at(activation.code(), instruction.start);
  if (segment == nullptr || segment->native) return Choice::kDelegate;
  if (segment->idle >= kMostIdle) return Choice::kInterpret;
  Frame& frame = activation.frame();
  GuardContext context;
  context.slots = frame.slots();
  context.slot_count = static_cast<std::size_t>(frame.slot_count());
  context.stack = frame.stack();
  context.stack_count = static_cast<std::size_t>(activation.depth());
  context.function = reinterpret_cast<PyObject*>(frame.function());
  context.state = read_state();
  ++native_depth_;
  BufferLease buffers;
  std::vector<PyObject*>& values = buffers->values;
  std::shared_ptr<const Entry> entry = segment->entries.find(context, values);
  if (entry == nullptr) {
    entry = segment->entries.add(context, state_of(activation, instruction.start), options_, host_,
                                 values);
  }
  RegionEnd end;
  if (entry != nullptr) end = entry->run(values, context.function, host_);
  --native_depth_;
  if (entry == nullptr && PyErr_Occurred() == nullptr) {
    if (segment->entries.is_full()) segment->native = true;
    return Choice::kDelegate;
  }
  if (end.program_runs) return Choice::kDelegate;
  if (entry != nullptr && !entry->has_nodes() && !entry->has_break()) segment->native = true;
  return apply(activation, instruction, *segment, std::move(end));
}

Choice SegmentRunner::apply(Activation& activation, const Instruction& instruction,
                            Segment& segment, RegionEnd end) {
  if (end.failed()) {
    raised_ = true;  // the instruction itself raises it
    return Choice::kInterpret;
  }
  if (end.result) {
    activation.result = std::move(end.result);
    return Choice::kReturn;
  }
  if (end.frame->unit == instruction.start) ++segment.idle;
  activation.drop(activation.depth());
  for (std::size_t k = 0; k < end.frame->slots.size(); ++k) {
    activation.set_local(static_cast<int>(k), std::move(end.frame->slots[k]));
  }
  for (Owned& value : end.frame->stack) activation.push(std::move(value));
  activation.index = activation.info().index_at(end.frame->unit);
  return Choice::kSegment;
}

Flow SegmentRunner::execute(Activation& activation, const Instruction& instruction) {
  if (std::exchange(raised_, false)) return Flow::kRaise;
  const bool is_call = instruction.op == Op::kCall || instruction.op == Op::kCallKw;
  if (!is_call) return semantics::run(activation, instruction);
  const bool disabled = is_disabled(call_site(activation, instruction).callable);
  native_depth_ += disabled ? 1 : 0;
  const Flow flow = semantics::run(activation, instruction);
  native_depth_ -= disabled ? 1 : 0;
  return flow;
}

}  // namespace

std::shared_ptr<Segment> SegmentTable::at(PyCodeObject* code, int unit) {
  std::shared_ptr<Segment>& segment = segments_[{code, unit}];
  if (segment) return segment;
  int& count = counts_[code];
  if (count == kMostSegments) {
    segments_.erase({code, unit});
    return nullptr;
  }
  if (count++ == 0) codes_.push_back(Owned::copy(reinterpret_cast<PyObject*>(code)));
  segment = std::make_shared<Segment>();
  return segment;
}

void SegmentTable::clear() {
  segments_.clear();
  counts_.clear();
  codes_.clear();
}

int SegmentTable::traverse(visitproc visit, void* arg) const {
  for (const auto& [place, segment] : segments_) {
    if (const int result = segment->entries.traverse(visit, arg); result != 0) return result;
  }
  return 0;
}

Owned run_from_break(FrameState state, SegmentTable& segments, const RegionOptions& options,
                     RegionHost& host) {
  SegmentRunner runner(segments, options, host);
  const HandledExceptionKept handled;
  const InterpreterScope scope(&runner);
  return enter_frame(std::move(state));
}

}  // namespace triptych::capture
