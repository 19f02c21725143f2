#include "capture/trace/tracer.h"

#include <utility>

#include "capture/guards/type_dict.h"
#include "capture/interpreter/thread_state.h"
#include "capture/trace/builtin_table.h"
#include "capture/trace/handlers.h"
#include "capture/trace/recipe_builder.h"

namespace triptych::capture {

// A frame that is interpreted, and the one whose instruction led to it.
struct Tracer::Mark {
  Mark(Tracer& tracer, Activation& activation)
      : tracer(tracer), activation(activation), outer(std::exchange(tracer.mark_, this)) {}
  ~Mark() { tracer.mark_ = outer; }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  Tracer& tracer;
  Activation& activation;
  Mark* outer;
};

Tracer::Tracer(CaptureResult& result, TensorTrace& tensors, const Library& known,
               TracerLimits limits)
    : result_(result),
      tensors_(tensors),
      known_(known),
      limits_(limits),
      guards_(result.guards, [this](Guard& guard) { locate(guard); }),
      recorder_(result, known),
      handled_(Owned::steal(PyErr_GetHandledException())) {}

Tracer::~Tracer() { journal_.roll_back(); }

void Tracer::let_go() {
  stopping_ = true;
  local_copies_.clear();
  kept_.clear();
}

PyObject* Tracer::keep(Owned object) {
  kept_.push_back(std::move(object));
  return kept_.back().get();
}

Owned Tracer::stop(const char* code, std::string message, std::string hint) {
  if (!stopping_) {
    stopping_ = true;
    break_raises_ = DynamoMarks::breaks_raise();
    reason_ = unsupported(code, std::move(message), here(), std::move(hint));
  }
  PyErr_SetNone(known_.stop);
  return {};
}

Flow Tracer::stop_flow(const char* code, std::string message, std::string hint) {
  stop(code, std::move(message), std::move(hint));
  return Flow::kRaise;
}

static constexpr int kUnitBytes = 2;

static std::string place_in(PyCodeObject* code, int unit) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (file == nullptr) PyErr_Clear();
  return std::string(file == nullptr ? "?" : file) + ":" +
         std::to_string(PyCode_Addr2Line(code, unit * kUnitBytes));
}

std::string Tracer::here() const {
  if (mark_ == nullptr) return {};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  std::string text = place_in(mark_->activation.code(), mark_->activation.instruction().unit);
  PyErr_Restore(type, value, traceback);
  return text;
}

// The innermost place in the user's code, outside of torch.
const Tracer::Mark* Tracer::user_mark() {
  const Mark* mark = mark_;
  for (; mark != nullptr && mark->outer != nullptr; mark = mark->outer) {
    PyCodeObject* code = mark->activation.code();
    const auto [found, is_new] = library_code_.try_emplace(code, false);
    if (is_new) {
      keep(Owned::copy(reinterpret_cast<PyObject*>(code)));
      const char* file = PyUnicode_AsUTF8(code->co_filename);
      found->second =
          file != nullptr && std::string_view(file).find("/torch/") != std::string_view::npos;
    }
    if (!found->second) break;
  }
  return mark;
}

static int line_of(const Activation& a) { return a.info().location(a.instruction().unit).line; }

void Tracer::locate(CapturedNode& node) {
  const Mark* const mark = user_mark();
  if (mark == nullptr) return;
  const char* file = PyUnicode_AsUTF8(mark->activation.code()->co_filename);
  node.file = file == nullptr ? "" : file;
  node.line = line_of(mark->activation);
  if (!modules_.empty() && modules_.back())
    node.module_path = result_.sources.text(modules_.back());
}

void Tracer::locate(Guard& guard) {
  const Mark* const mark = user_mark();
  if (mark == nullptr) return;
  guard.file = Owned::copy(mark->activation.code()->co_filename);
  guard.line = line_of(mark->activation);
}

// The frame ends without running any of its handlers: its position is set to where none is.
Flow Tracer::abort(Activation& a) {
  // A suspended generator that dies with the trace is closed: that must not look like an error.
  const bool closing = a.frame().owned_by_generator() && a.depth() > 0 && a.peek() &&
                       PyErr_GivenExceptionMatches(a.peek(), PyExc_GeneratorExit);
  if (closing) {
    PyErr_SetNone(PyExc_GeneratorExit);
  } else if (!PyErr_Occurred() || !PyErr_ExceptionMatches(known_.stop)) {
    PyErr_SetNone(known_.stop);
  }
  for (const Instruction& instruction : a.info().instructions()) {
    if (a.info().handler(instruction.unit) != nullptr) continue;
    a.frame().set_executing(instruction.unit);
    a.raise_unit = instruction.unit;
    return Flow::kReraise;
  }
  return Flow::kReraise;
}

void Tracer::enter_root(const Frame& frame) {
  root_ = frame.get();
  remember(reinterpret_cast<PyObject*>(frame.function()), result_.sources.function());
  prepare_function(frame.function());
  PyObject** slots = frame.slots();
  pending_.resize(frame.slot_count());
  // In the middle of a function a variable may be bound at one call and not at another.
  const bool resumed = frame.resume_unit() > 0;
  for (int k = 0; k < frame.slot_count(); ++k) pending_[k] = resumed || slots[k] != nullptr;
  any_pending_ = true;
  for (int k = 0; k < frame.stack_depth() && !stopping_; ++k) {
    PyObject*& operand = frame.stack()[k];
    if (operand == nullptr) {
      guards_.absent(result_.sources.stack(k));
      continue;
    }
    Owned value = read(operand, result_.sources.stack(k));
    if (!value) return PyErr_Clear();
    const Owned old = Owned::steal(std::exchange(operand, value.release()));
  }
}

bool Tracer::take_pending(Activation& a, int slot) {
  if (!pending_[slot]) return true;
  pending_[slot] = false;
  if (!a.local(slot)) {
    guards_.absent(result_.sources.slot(slot));
    return true;
  }
  Owned value = read(a.local(slot), result_.sources.slot(slot));
  if (!value) return false;
  a.set_local(slot, std::move(value));
  return true;
}

// What a frame that runs natively calls does too.
bool Tracer::decline() {
  ++native_depth_;
  return false;
}

bool Tracer::enter(const Frame& frame) {
  if (native_depth_ > 0) return decline();
  if (stopping_) return true;
  if (root_ == nullptr) {
    enter_root(frame);
    return true;
  }
  auto* function = reinterpret_cast<PyObject*>(frame.function());
  const bool known = is_external(function) || is_fresh_function(function);
  // A method of Tensor that C code calls, such as `__hash__`.
  if (!known && function_rule(known_, function).kind == FunctionRule::Kind::kTorch)
    return decline();
  if (!known && !introduce(frame)) {
    if (!stopping_) {
      stop("break.unknown_function", std::string("a call of ") +
                                         PyUnicode_AsUTF8(frame.function()->func_qualname) +
                                         " from C code, which has been found nobody knows where");
    }
    PyErr_Clear();
    return true;
  }
  prepare_function(frame.function());
  return true;
}

// What it did to the program's objects could not be put back.
bool Tracer::refuses_native() {
  stop("break.watched", "a debugger or tracing tool watches the code");
  return true;
}

// What a function's frames read without an instruction that names it.
void Tracer::prepare_function(PyFunctionObject* function) {
  auto* object = reinterpret_cast<PyObject*>(function);
  if (!prepared_functions_.insert(object).second) return;
  const SourceId source = source_of(object);
  if (!source) return;
  SourceArena& sources = result_.sources;
  guards_.is(sources.step(SourceKind::kFunctionCode, source), function->func_code);
  const auto add = [&](PyObject* dict, SourceKind kind) {
    if (dict != nullptr && !is_external(dict)) remember(dict, sources.step(kind, source));
  };
  add(function->func_globals, SourceKind::kFunctionGlobals);
  add(function->func_builtins, SourceKind::kFunctionBuiltins);
  if (function->func_defaults != nullptr) {
    const SourceId defaults = sources.step(SourceKind::kFunctionDefaults, source);
    guards_.length(defaults, PyTuple_GET_SIZE(function->func_defaults));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(function->func_defaults); ++k) {
      PyObject* value = PyTuple_GET_ITEM(function->func_defaults, k);
      if (kind(value) == Kind::kTensor || kind(value) == Kind::kSubclass) {
        stop("break.default", "a tensor as the default of a parameter");
        return PyErr_Clear();
      }
      if (!read(value, sources.item(SourceKind::kTupleItem, defaults, k))) return PyErr_Clear();
    }
  }
  if (function->func_kwdefaults == nullptr) return;
  const SourceId defaults = sources.step(SourceKind::kFunctionKwDefaults, source);
  remember(function->func_kwdefaults, defaults);
  PyObject *key, *value;
  Py_ssize_t place = 0;
  while (PyDict_Next(function->func_kwdefaults, &place, &key, &value)) {
    if (kind(value) == Kind::kTensor || kind(value) == Kind::kSubclass)
      stop("break.default", "a tensor as the default of a parameter");
    if (stopping_ || !read(value, sources.keyed(SourceKind::kDictItem, defaults, key)))
      return PyErr_Clear();
  }
}

// A function that C code has found on a class: special methods, properties, constructors.
bool Tracer::introduce(const Frame& frame) {
  PyCodeObject* code = frame.code();
  if (code->co_argcount == 0 || frame.slots()[0] == nullptr) return false;
  PyObject* self = frame.slots()[0];
  auto* function = reinterpret_cast<PyObject*>(frame.function());
  if (introduce_from_class(Py_TYPE(self), function, code->co_name)) return true;
  return PyType_Check(self) &&
         introduce_from_class(reinterpret_cast<PyTypeObject*>(self), function, code->co_name);
}

bool Tracer::introduce_from_class(PyTypeObject* type, PyObject* function, PyObject* name) {
  const auto accept = [&](PyObject* key, PyObject* value) {
    SourceKind step = SourceKind::kClassAttribute;
    PyObject* getter = nullptr;
    if (value == function) {
      getter = value;
    } else if (Py_TYPE(value) == &PyProperty_Type) {
      const Owned found = Owned::steal(PyObject_GetAttrString(value, "fget"));
      getter = found.get();
      step = SourceKind::kPropertyGetter;
    } else if (Py_TYPE(value) == &PyStaticMethod_Type || Py_TYPE(value) == &PyClassMethod_Type) {
      const Owned found = Owned::steal(PyObject_GetAttrString(value, "__func__"));
      getter = found.get();
      step = SourceKind::kWrappedFunction;
    }
    if (getter != function || _PyType_Lookup(type, key) != value) return false;
    SourceId source;
    class_attribute(type, key, &source);
    if (step != SourceKind::kClassAttribute) source = result_.sources.step(step, source);
    remember(function, source);
    return true;
  };
  PyObject* named = _PyType_Lookup(type, name);
  if (named != nullptr && accept(name, named)) return true;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(type->tp_mro); ++k) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, k));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(type_dict(base), &place, &key, &value)) {
      if (accept(key, value)) return true;
      // Hidden by a class before this one in the order of bases: `super()` finds it.
      if (value == function) {
        remember(function,
                 result_.sources.keyed(SourceKind::kClassAttribute, type_source(base), key));
        guards_.is(source_of(function), function);
        return true;
      }
    }
  }
  return false;
}

Flow Tracer::execute(Activation& a, const Instruction& i) {
  const Mark mark(*this, a);
  if (stopping_) return abort(a);
  if (++instructions_ > limits_.instructions) {
    stop("break.budget", "more instructions than one capture may run");
    return abort(a);
  }
  if (a.frame().get() == root_ && i.boundary) {
    if (root_boundaries_ >= limits_.try_from) try_exit(a, i);
    if (root_boundaries_++ == limits_.stop_at) {
      describe_break(a, i);
      return abort(a);
    }
  }
  const Handler handler = Handlers::table()[static_cast<int>(i.op)];
  const Flow flow = handler != nullptr ? (this->*handler)(a, i) : semantics::run(a, i);
  if (flow == Flow::kRaise || flow == Flow::kReraise) {
    if (!stopping_) {
      if (const std::optional<Error> refused = tensors_.take_refusal()) {
        PyErr_Clear();
        stop("break.data", refused->message, refused->hint);
      }
    }
    if (stopping_) return abort(a);
  } else if (flow == Flow::kLeave && !kOpLeaves[static_cast<int>(i.op)] && i.op != Op::kReraise &&
             i.op != Op::kCleanupThrow) {  // those end the frame
    stop("break.instruction",
         std::string("an instruction that only CPython runs: ") + kOpNames[static_cast<int>(i.op)]);
    return abort(a);
  }
  if (tensors_.ops() != ops_seen_) {
    PyErr_Clear();
    stop("break.unseen_op", "C code ran tensor operations that cannot be followed");
    return abort(a);
  }
  return flow;
}

bool Tracer::describe_slots(Activation& a) {
  const Owned handled = Owned::steal(PyErr_GetHandledException());
  if (handled.get() != handled_.get()) {
    stop("break.handler", "an exception is being handled");
    return false;
  }
  RecipeBuilder recipes(*this);
  Break& stop_here = *result_.stop;
  const int slots = a.frame().slot_count();
  for (int k = 0; k < slots; ++k) {
    PyObject* value = a.local(k);
    std::uint32_t recipe = Effect::kNone;
    if (pending_[k]) {
      recipe = recipes.load(result_.sources.slot(k));  // bound or not
    } else if (value != nullptr && !recipes.build(value, recipe)) {
      return false;
    }
    stop_here.slots.push_back(recipe);
  }
  for (int place = a.depth(); place >= 1; --place) {
    PyObject* value = a.peek(place);
    std::uint32_t recipe = Effect::kNone;
    if (value != nullptr && !recipes.build(value, recipe)) return false;
    stop_here.stack.push_back(recipe);
  }
  return recipes.effects();
}

// The state of the root frame before this instruction, as recipes.
void Tracer::describe_break(Activation& a, const Instruction& i) {
  result_.stop.emplace();
  result_.stop->unit = i.start;
  reached_stop_ = describe_slots(a) && describe_modes() && settle_refusals();
  if (!stopping_) stop("break", "");
}

void Tracer::try_exit(Activation& a, const Instruction& i) {
  describe_break(a, i);
  if (reached_stop_) last_exit_ = root_boundaries_;
  reached_stop_ = stopping_ = false;
  PyErr_Clear();
  result_.stop.reset();
  result_.recipes.clear();
  result_.effects.clear();
  result_.outputs.clear();
}

bool Tracer::finish(PyObject* returned) {
  RecipeBuilder recipes(*this);
  return recipes.build(returned, result_.result) && recipes.effects() && describe_modes() &&
         settle_refusals();
}

// A graph does not carry modes beyond its end: what the program leaves set is set by an effect.
bool Tracer::describe_modes() {
  if (tensors_.other_modes_changed()) {
    stop("break.mode", "autocast or inference mode begins or ends here");
    return false;
  }
  if (!tensors_.grad_mode_changed()) return true;
  const auto constant = [&](PyObject* object) {
    Recipe recipe;
    recipe.object = Owned::copy(object);
    result_.recipes.push_back(std::move(recipe));
    return static_cast<std::uint32_t>(result_.recipes.size()) - 1;
  };
  const Owned setter = Owned::steal(PyObject_GetAttrString(known_.torch_c, "_set_grad_enabled"));
  if (!setter) return false;
  Effect effect;
  effect.kind = Effect::Kind::kCall;
  effect.target = constant(setter.get());
  effect.items.push_back(constant(TensorTrace::grad_mode() ? Py_True : Py_False));
  result_.effects.push_back(std::move(effect));
  return true;
}

}  // namespace triptych::capture
