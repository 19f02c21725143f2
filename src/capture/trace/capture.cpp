#include "capture/trace/capture.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <utility>

#include "capture/guards/state_word.h"
#include "capture/interpreter/evaluator.h"
#include "capture/region/handled_exception.h"
#include "capture/trace/tensor_trace.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {
namespace {

// What is different in Python while a trace runs; undone by the destructor.
class Surroundings {
 public:
  static Owned module() {
    return Owned::steal(PyImport_ImportModule("triptych.capture.surroundings"));
  }
  bool open() {
    const Owned found = module();
    if (found) close_ = Owned::steal(PyObject_CallMethod(found.get(), "open", nullptr));
    if (found && close_)
      default_table = Owned::steal(PyObject_GetAttrString(found.get(), "default_decomposition"));
    return static_cast<bool>(default_table);
  }
  Surroundings() = default;
  ~Surroundings() {
    if (!close_) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const Owned done = Owned::steal(PyObject_CallNoArgs(close_.get()));
    if (!done) PyErr_WriteUnraisable(close_.get());
    PyErr_Restore(type, value, traceback);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  Owned default_table;

 private:
  Owned close_;
};

// The cycle collector would run finalizers of the user's in the middle of a trace.
class NoCollection {
 public:
  NoCollection() : enabled_(PyGC_Disable() == 1) {}
  ~NoCollection() {
    if (enabled_) PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
  bool enabled_;
};

FrameState copy_of(const FrameState& state) {
  FrameState copy;
  copy.function = Owned::copy(state.function.get());
  copy.locals_mapping = Owned::copy(state.locals_mapping.get());
  for (const Owned& slot : state.slots) copy.slots.push_back(Owned::copy(slot.get()));
  for (const Owned& operand : state.stack) copy.stack.push_back(Owned::copy(operand.get()));
  copy.unit = state.unit;
  return copy;
}

// The exception that is set, taken; its traceback holds the frames that it went through.
Owned take_exception() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != nullptr && traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Owned::steal(value);
}

std::string text_of(const Owned& exception) {
  if (!exception) return {};
  std::string text = Py_TYPE(exception.get())->tp_name;
  const Owned message = Owned::steal(PyObject_Str(exception.get()));
  const char* words = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  if (words != nullptr) text += std::string(": ") + words;
  PyErr_Clear();
  return text;
}

struct Attempt {
  std::optional<CaptureResult> result;
  Error error;
  std::int64_t boundary = -1;  // of the root frame, where it ended
  std::int64_t last_exit = -1;
  bool break_raises = false;
};

constexpr std::int64_t kMostTries = 2000;  // boundaries before a break where leaving is tried

void name_inputs(CaptureResult& result) {
  std::set<std::string> taken;
  for (GraphInput& input : result.inputs) {
    std::string name;
    for (const char c : result.sources.text(input.source)) {
      const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0;
      if (word) name += c;
      if (!word && !name.empty() && name.back() != '_') name += '_';
    }
    while (!name.empty() && name.back() == '_') name.pop_back();
    std::string unique = name;
    for (int k = 1; !taken.insert(unique).second; ++k) unique = name + "_" + std::to_string(k);
    input.name = std::move(unique);
  }
}

// A written input must not share memory with another, as it does not now.
void guard_memory(Tracer& tracer, CaptureResult& result) {
  for (std::size_t w = 0; w < result.inputs.size(); ++w) {
    result.inputs[w].writes = TensorTrace::writes(result.inputs[w].example.get());
    if (result.inputs[w].writes == 0) continue;
    for (std::size_t k = 0; k < result.inputs.size(); ++k) {
      if (k != w && tracer.is_fake(result.inputs[k].example.get()))
        tracer.guards().disjoint(result.inputs[w].source, result.inputs[k].source);
    }
  }
}

// What is known once the region has ended.
void complete(CaptureResult& result, Tracer& tracer, const TensorTrace& tensors) {
  guard_memory(tracer, result);
  tracer.guard_written_apart();
  result.guards.relations = tensors.relations();
  result.draws = tensors.draws();
}

Attempt attempt(const CaptureRequest& request, const Library& known, PyObject* default_table,
                const StateWord& state, TracerLimits limits) {
  Attempt made;
  const HandledExceptionKept handled;  // frames are left without their handlers
  CaptureResult result{SourceArena::of_code(
      reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(request.state.function.get())))};
  Guard modes{GuardKind::kState, {}, {}};
  modes.state = state;
  result.guards.guards.push_back(std::move(modes));
  auto tensors = TensorTrace::open(default_table);
  if (!tensors.ok()) {
    made.error = tensors.error();
    return made;
  }
  {
    Tracer tracer(result, *tensors.value(), known, limits);
    Owned returned;
    {
      const InterpreterScope scope(&tracer);
      if (!scope.active()) {
        made.error = unsupported("capture.scope", "another thread is capturing");
        return made;
      }
      returned = enter_frame(copy_of(request.state));
    }
    Owned raised = take_exception();
    made.boundary = tracer.root_boundaries() - 1;
    made.last_exit = tracer.last_exit();
    bool done =
        returned && !tracer.stopped() && made.boundary >= 0 && tracer.finish(returned.get());
    if (tracer.reached_stop()) done = true;
    if (done) {
      complete(result, tracer, *tensors.value());
    } else if (tracer.stopped()) {
      made.error = tracer.reason();
      made.break_raises = tracer.break_raises();
    } else if (raised) {
      made.error = unsupported("capture.exception", text_of(raised));
      made.boundary = -1;
    } else {
      made.error = unsupported("capture.not_interpreted", "the frame was not interpreted");
    }
    PyErr_Clear();
    for (const GraphInput& input : result.inputs)
      result.needs_gradients |= TensorTrace::requires_grad(input.example.get());
    tracer.roll_back();
    // What only the trace kept alive dies here: generators of its frames are closed without running
    // the handlers and `finally` blocks that would write to the program's objects.
    const InterpreterScope scope(&tracer);
    tracer.let_go();
    returned = Owned();
    raised = Owned();
    if (!done) return made;
  }
  name_inputs(result);
  made.result.emplace(std::move(result));
  return made;
}

// What comes before an instruction of the function's own frame that could not be followed. Where
// something lives there that cannot be handed over (a generator, an exception that is handled), it
// ends earlier: at the last boundary where all could be.
template <class Again>
Result<CaptureResult> before_the_break(Attempt whole, bool is_segment, Again again) {
  const std::int64_t least = is_segment ? 0 : 1;  // a function that is left at once runs eagerly
  if (whole.boundary < least) return whole.error;
  Attempt part = again(whole.boundary, TracerLimits::kNever);
  if (!part.result) {
    if (part.error.message != whole.error.message) whole.error.message += "; " + part.error.message;
    const std::int64_t from = std::max(whole.boundary - kMostTries, least);
    const std::int64_t exit = again(whole.boundary, from).last_exit;
    if (exit < least) return whole.error;
    part = again(exit, TracerLimits::kNever);
    if (!part.result) return whole.error;
  }
  part.result->stop->code = whole.error.code;
  part.result->stop->message = whole.error.message;
  part.result->stop->location = whole.error.location;
  part.result->stop->hint = whole.error.hint;
  return std::move(*part.result);
}

}  // namespace

Result<CaptureResult> capture(const CaptureRequest& request) {
  const auto* code =
      reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(request.state.function.get()));
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if (code->co_flags & kSuspends)
    return unsupported("capture.generator", "generators and coroutines live in their frame");
  const auto* function = reinterpret_cast<PyFunctionObject*>(request.state.function.get());
  if (!can_import(function->func_builtins))
    return unsupported("capture.builtins", "a function whose builtins are not Python's");
  const StateWord state = read_state();
  if (state_has_modes(state))
    return unsupported("capture.mode", "a mode is active that takes torch functions over");
  const NoCollection no_collection;
  const Library* known = library();
  Surroundings surroundings;
  if (known == nullptr || !surroundings.open())
    return internal_error("capture.surroundings", text_of(take_exception()));
  TracerLimits limits;
  limits.symbolic = &request.symbolic;
  limits.all_sizes_symbolic = request.all_sizes_symbolic;
  if (request.instruction_budget != 0) limits.instructions = request.instruction_budget;
  Attempt whole = attempt(request, *known, surroundings.default_table.get(), state, limits);
  if (whole.result) return std::move(*whole.result);
  if (whole.break_raises) {
    whole.error.code = kBreakThatRaises;
    whole.error.message =
        "error_on_graph_break(True), but the graph breaks: " + whole.error.message;
    return whole.error;
  }
  const auto again = [&](std::int64_t stop_at, std::int64_t try_from) {
    limits.stop_at = stop_at;
    limits.try_from = try_from;
    return attempt(request, *known, surroundings.default_table.get(), state, limits);
  };
  return before_the_break(std::move(whole), request.state.unit > 0, again);
}

}  // namespace triptych::capture
