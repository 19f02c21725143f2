// Calls: of Python functions (interpreted), of torch (one node), of modules, of C code that is
// known. Everything else ends the trace.
#include <utility>

#include "capture/guards/check_steps.h"
#include "capture/trace/builtin_table.h"
#include "capture/trace/cpython_api.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {
namespace {

// Where compiled functions, Dynamo's and ours, keep what they were made of.
constexpr char kOriginal[] = "_torchdynamo_orig_callable";

// The arguments with one more in front.
class WithSelf {
 public:
  WithSelf(PyObject* self, const Arguments& arguments) {
    values_.reserve(arguments.total() + 1);
    values_.push_back(self);
    values_.insert(values_.end(), arguments.values, arguments.values + arguments.total());
    arguments_ = {values_.data(), arguments.count + 1, arguments.names};
  }
  const Arguments& get() const { return arguments_; }

 private:
  std::vector<PyObject*> values_;
  Arguments arguments_;
};

Owned vectorcall(PyObject* callable, const Arguments& arguments) {
  return Owned::steal(PyObject_Vectorcall(
      callable, arguments.values, static_cast<std::size_t>(arguments.count), arguments.names));
}

struct MethodWrapper {  // CPython's object
  PyObject_HEAD PyObject* descriptor;
  PyObject* self;
};

std::string name_of(PyObject* callable) {
  const Owned name = Owned::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : Py_TYPE(callable)->tp_name;
}

}  // namespace

Owned Tracer::call_with_self(PyObject* callable, PyObject* self, const Arguments& arguments) {
  const WithSelf all(self, arguments);
  return call(callable, all.get());
}

Owned Tracer::call_one(PyObject* callable, PyObject* argument) {
  PyObject* values[] = {argument};
  return call(callable, {values, 1, nullptr});
}

Owned Tracer::call_natively(PyObject* callable, const Arguments& arguments) {
  ++native_depth_;
  Owned result = vectorcall(callable, arguments);
  --native_depth_;
  return result;
}

Owned Tracer::call_pure(PyObject* callable, const Arguments& arguments) {
  std::vector<Owned> held;
  std::vector<PyObject*> values;
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    held.push_back(is_symbolic(arguments.values[k]) ? concrete(arguments.values[k])
                                                    : localized(arguments.values[k]));
    if (!held.back()) return {};
    values.push_back(held.back().get());
  }
  return vectorcall(callable, {values.data(), arguments.count, arguments.names});
}

Owned Tracer::call(PyObject* callable, const Arguments& arguments) {
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyFunction_Type) return call_function(callable, arguments);
  if (type == &PyMethod_Type)
    return call_with_self(PyMethod_GET_FUNCTION(callable), PyMethod_GET_SELF(callable), arguments);
  if (type == &PyCFunction_Type || type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == method_wrapper_type() || type == &PyClassMethodDescr_Type)
    return call_c_function(callable, arguments);
  if (PyType_Check(callable))
    return call_type(reinterpret_cast<PyTypeObject*>(callable), arguments);
  if (type == known_.partial) return call_partial(callable, arguments);
  if (type == known_.lru_cache) return call_lru_cache(callable, arguments);
  if (PyWeakref_CheckRefExact(callable)) return call_weak_reference(callable);
  if (PyType_IsSubtype(type, known_.nn_module)) {
    bool handled = false;
    Owned result = call_nn_module(callable, arguments, handled);
    if (handled) return result;
  }
  if (std::string_view(type->tp_name).starts_with("OpOverload") &&
      kind(callable) == Kind::kSingleton)
    return call_torch(CapturedNode::Kind::kFunction, callable, callable, arguments);
  if (std::string_view(type->tp_name) == "triptych._C.Region") {
    return call_original(callable, arguments);
  }
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    const Owned name = Owned::steal(PyUnicode_InternFromString("__call__"));
    PyObject* function = class_attribute(type, name.get());
    if (function != nullptr && Py_TYPE(function) == &PyFunction_Type)
      return call_with_self(function, callable, arguments);
  }
  if (type->tp_call == nullptr) return vectorcall(callable, arguments);  // raises
  return stop("break.call", std::string("a call of an object of type ") + type->tp_name);
}

// What a compiled function was made of is followed in its place.
Owned Tracer::call_original(PyObject* callable, const Arguments& arguments) {
  const Owned name = Owned::steal(PyUnicode_InternFromString(kOriginal));
  const Owned original = get_attribute(callable, name.get());
  return original ? call(original.get(), arguments) : Owned();
}

Owned Tracer::call_function(PyObject* function, const Arguments& arguments) {
  if (PyObject* const marks = reinterpret_cast<PyFunctionObject*>(function)->func_dict) {
    if (PyDict_GetItemString(marks, "_torchdynamo_disable") == Py_True) {
      return stop("break.disabled", "a call of " + name_of(function) +
                                        ", which torch.compiler.disable leaves to Python");
    }
    if (PyDict_GetItemString(marks, kOriginal) != nullptr) {
      return call_original(function, arguments);
    }
  }
  if (marks_.in_graph(function)) {
    return call_torch(CapturedNode::Kind::kFunction, function, function, arguments);
  }
  const FunctionRule rule = function_rule(known_, function);
  switch (rule.kind) {
    case FunctionRule::Kind::kInterpret:
      break;
    case FunctionRule::Kind::kTorch: {
      // A method of Tensor written in Python keeps its name.
      if (rule.is_method && arguments.count > 0 && is_fake(arguments.values[0])) {
        return call_torch(CapturedNode::Kind::kMethod, function,
                          reinterpret_cast<PyFunctionObject*>(function)->func_name, arguments);
      }
      return call_torch(CapturedNode::Kind::kFunction, function, function, arguments);
    }
    case FunctionRule::Kind::kConstant:
      return Owned::copy(rule.constant);
    case FunctionRule::Kind::kFirstArgument:
      return call(arguments.values[0],
                  {arguments.values + 1, arguments.count - 1, arguments.names});
    case FunctionRule::Kind::kNative:
      return call_outside(function, arguments);
    case FunctionRule::Kind::kBreak:
      return stop("break.call", "a call of " + name_of(function), rule.hint);
  }
  return vectorcall(function, arguments);
}

Owned Tracer::call_c_function(PyObject* function, const Arguments& arguments) {
  const CFunction c = c_function_of(function);
  const bool found_bound = c.self != nullptr && !PyType_Check(c.self) && is_external(function);
  if (found_bound && kind(c.self) > Kind::kSingleton)
    return stop("break.call", "a method of C that was bound outside: " + name_of(function));
  if (c.self != nullptr) {
    const WithSelf all(c.self, arguments);
    if (const BuiltinRule* rule = builtin_rule(known_, c))
      return rule->run(*this, *rule, c, all.get());
  } else if (const BuiltinRule* rule = builtin_rule(known_, c)) {
    return rule->run(*this, *rule, c, arguments);
  }
  if (is_torch_function(known_, c))
    return call_torch(CapturedNode::Kind::kFunction, function, function, arguments);
  if (PyObject* name = tensor_method_name(known_, c)) {
    if (c.self != nullptr) {
      const WithSelf all(c.self, arguments);
      PyObject* descriptor = _PyType_Lookup(known_.tensor, name);
      return call_torch(CapturedNode::Kind::kMethod, descriptor, name, all.get());
    }
    return call_torch(CapturedNode::Kind::kMethod, function, name, arguments);
  }
  if (PyObject* const substitute = marks_.substitute_of(function)) {
    if (!is_external(substitute)) remember(substitute, result_.sources.constant(substitute));
    return call(substitute, arguments);
  }
  return stop("break.call", "a call of C function " + name_of(function));
}

Owned Tracer::call_type(PyTypeObject* type, const Arguments& arguments) {
  auto* object = reinterpret_cast<PyObject*>(type);
  CFunction c;
  c.callable = object;
  c.key = type;
  if (const BuiltinRule* rule = builtin_rule(known_, c))
    return rule->run(*this, *rule, c, arguments);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return stop("break.call", std::string("a call of C type ") + type->tp_name);
  PyTypeObject* meta = Py_TYPE(object);
  const bool plain_meta = meta->tp_call == PyType_Type.tp_call;
  const bool own_meta = has_own_metaclass(object);
  if (PyType_IsSubtype(meta, known_.enum_type)) return call_enum(object, arguments);
  if (!plain_meta) return vectorcall(object, arguments);  // the metaclass's own frames
  if (PyType_IsSubtype(type, known_.tensor_base))
    return stop("break.call", std::string("a tensor of class ") + type->tp_name + " is made");
  if (own_meta) {
    const Owned call_name = Owned::steal(PyUnicode_InternFromString("__call__"));
    class_attribute(meta, call_name.get());
  }
  const Owned new_name = Owned::steal(PyUnicode_InternFromString("__new__"));
  const Owned init_name = Owned::steal(PyUnicode_InternFromString("__init__"));
  PyObject* make = class_attribute(type, new_name.get());
  PyObject* init = class_attribute(type, init_name.get());
  if (refuses_finalizer(type)) return {};
  const auto of_python = [](PyObject* function) {
    return function != nullptr &&
           (Py_TYPE(function) == &PyFunction_Type || Py_TYPE(function) == &PyStaticMethod_Type);
  };
  if (of_python(init) || of_python(make)) {
    // What a base written in C does with the arguments is looked at by the calls of its slots.
    if (of_python(init) && (of_python(make) || is_plain_new(type)))
      return vectorcall(object, arguments);
    if (of_python(make) && type->tp_init == PyBaseObject_Type.tp_init)
      return vectorcall(object, arguments);
  }
  if (is_plain_new(type) && !of_python(init)) return call_pure(object, arguments);
  return stop("break.call", std::string("an object of class ") + type->tp_name + " is made");
}

bool Tracer::refuses_finalizer(PyTypeObject* type) {
  const Owned name = Owned::steal(PyUnicode_InternFromString("__del__"));
  const bool has = class_attribute(type, name.get()) != nullptr;
  if (has) stop("break.call", std::string("an object with a finalizer is made: ") + type->tp_name);
  return has;
}

Owned Tracer::call_partial(PyObject* partial, const Arguments& arguments) {
  const auto part = [&](const char* text) {
    const Owned name = Owned::steal(PyUnicode_InternFromString(text));
    return get_attribute(partial, name.get());
  };
  const Owned function = part("func");
  if (!function) return {};
  const Owned given = part("args");
  const Owned keywords = given ? part("keywords") : Owned();
  if (!keywords) return {};
  const Owned local = localized(given.get());
  const Owned local_keywords = local ? localized(keywords.get()) : Owned();
  if (!local_keywords) return {};
  Owned merged = Owned::steal(PyDict_Copy(local_keywords.get()));
  if (!merged) return {};
  for (Py_ssize_t k = 0; k < arguments.keywords(); ++k) {
    if (PyDict_SetItem(merged.get(), PyTuple_GET_ITEM(arguments.names, k),
                       arguments.values[arguments.count + k]) < 0)
      return {};
  }
  std::vector<PyObject*> values;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(local.get()); ++k)
    values.push_back(PyTuple_GET_ITEM(local.get(), k));
  values.insert(values.end(), arguments.values, arguments.values + arguments.count);
  const auto count = static_cast<Py_ssize_t>(values.size());
  const Owned names = Owned::steal(PySequence_Tuple(merged.get()));
  const Owned rest = Owned::steal(PyDict_Values(merged.get()));
  if (!names || !rest) return {};
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(rest.get()); ++k)
    values.push_back(PyList_GET_ITEM(rest.get(), k));
  return call(function.get(),
              {values.data(), count, PyTuple_GET_SIZE(names.get()) == 0 ? nullptr : names.get()});
}

// Runs as it would outside of the trace.
Owned Tracer::call_outside(PyObject* callable, const Arguments& arguments) {
  const TensorTrace::Pause pause(tensors_);
  return call_natively(callable, arguments);
}

// What a cache answers to constants is a constant: eager would be told the same. Any other object
// would be the cache's own, which eager shows again at each call.
Owned Tracer::call_lru_cache(PyObject* wrapper, const Arguments& arguments) {
  bool constant = true;
  for (Py_ssize_t k = 0; k < arguments.total(); ++k)
    constant = constant && kind(arguments.values[k]) <= Kind::kSingleton;
  if (constant) {
    Owned value = call_outside(wrapper, arguments);
    if (value && kind(value.get()) == Kind::kLeaf) return value;
    PyErr_Clear();
  }
  return stop("break.call", "a call of " + name_of(wrapper) + ", which caches what it returns");
}

// To a tensor that the program has also reached in another way: it must be the same then.
Owned Tracer::call_weak_reference(PyObject* reference) {
  PyObject* target = PyWeakref_GET_OBJECT(reference);
  const SourceId source = source_of(reference);
  if (!source) return Owned::copy(target);
  const auto fake = fakes_.find(target);
  if (fake == fakes_.end()) return stop("break.call", "a call of a weak reference");
  guards_.is(source, reference);
  guards_.is(recorder_.source_of(fake->second), target);
  return Owned::copy(fake->second);
}

// Module.__call__ without hooks is `forward`. With hooks its own code is interpreted.
Owned Tracer::call_nn_module(PyObject* module, const Arguments& arguments, bool& handled) {
  static PyObject* const call_name = PyUnicode_InternFromString("__call__");
  static PyObject* const impl_name = PyUnicode_InternFromString("_call_impl");
  static PyObject* const compiled_name = PyUnicode_InternFromString("_compiled_call_impl");
  static PyObject* const forward_name = PyUnicode_InternFromString("forward");
  static PyObject* const hooks[] = {PyUnicode_InternFromString("_backward_hooks"),
                                    PyUnicode_InternFromString("_backward_pre_hooks"),
                                    PyUnicode_InternFromString("_forward_hooks"),
                                    PyUnicode_InternFromString("_forward_pre_hooks")};
  static PyObject* const global_hooks[] = {PyUnicode_InternFromString("_global_backward_hooks"),
                                           PyUnicode_InternFromString("_global_backward_pre_hooks"),
                                           PyUnicode_InternFromString("_global_forward_hooks"),
                                           PyUnicode_InternFromString("_global_forward_pre_hooks")};
  PyTypeObject* type = Py_TYPE(module);
  if (class_attribute(type, call_name) != known_.nn_module_call ||
      class_attribute(type, impl_name) != known_.nn_module_call_impl)
    return {};
  const Owned dict = instance_dict(module);
  const Owned globals = Owned::copy(PyModule_GetDict(known_.nn_module_file));
  if (!dict) return {};
  if (!is_external(globals.get())) {
    remember(known_.nn_module_file, result_.sources.constant(known_.nn_module_file));
    instance_dict(known_.nn_module_file);
  }
  const auto empty = [&](PyObject* table, PyObject* name) {
    Owned found;
    if (!look_up(table, name, found) || !found) return false;
    const std::optional<bool> any = truth(found.get());
    return any.has_value() && !*any;
  };
  handled = true;
  for (PyObject* name : {impl_name, compiled_name}) {
    Owned found;
    if (!look_up(dict.get(), name, found)) return {};
    if (found && found.get() != Py_None) handled = false;
  }
  for (PyObject* name : hooks) handled = handled && empty(dict.get(), name);
  for (PyObject* name : global_hooks) handled = handled && empty(globals.get(), name);
  if (PyErr_Occurred()) {
    handled = true;
    return {};
  }
  if (!handled) return {};
  Owned forward, self;
  if (!load_attribute(module, forward_name, true, forward, self)) return {};
  modules_.push_back(source_of(module));
  Owned result =
      self ? call_with_self(forward.get(), self.get(), arguments) : call(forward.get(), arguments);
  modules_.pop_back();
  return result;
}

bool Tracer::has_own_answer(PyObject* object, std::initializer_list<const char*> methods) {
  PyTypeObject* type = Py_TYPE(object);
  for (const char* text : methods) {
    const Owned name = Owned::steal(PyUnicode_InternFromString(text));
    PyObject* method = class_attribute(type, name.get());
    if (method == nullptr) continue;
    if (Py_TYPE(method) == &PyWrapperDescr_Type) return false;
    if (Py_TYPE(method) != &PyFunction_Type && kind(object) != Kind::kObject)
      stop("break.call", std::string(text) + " of class " + type->tp_name);
    return true;
  }
  return false;
}

// Of a list or set that was written, all of it has been read.
void Tracer::read_length(PyObject* container) {
  const SourceId source = source_of(container);
  if (!source) return;
  PyObject* before = journal_.before(container);
  if (before == nullptr || PyDict_Check(container))
    guards_.length(source, length_of(before == nullptr ? container : before));
}

std::optional<bool> Tracer::truth(PyObject* object) {
  if (object == Py_True || object == Py_False) return object == Py_True;
  if (object == Py_None) return false;
  if (is_symbolic(object)) {
    ++native_depth_;
    const int truth = PyObject_IsTrue(object);
    --native_depth_;
    if (truth < 0) return std::nullopt;
    return truth != 0;
  }
  const Kind what = kind(object);
  if (what >= Kind::kTuple && what <= Kind::kSet) {
    if (!has_own_answer(object, {"__bool__", "__len__"})) read_length(object);
  } else if (what == Kind::kObject || is_enum_member(object) || has_own_metaclass(object)) {
    has_own_answer(object, {"__bool__", "__len__"});
  } else if (what == Kind::kOpaque && is_external(object)) {
    stop("break.opaque", std::string("an object of type ") + Py_TYPE(object)->tp_name);
  }
  const int truth = stopping_ ? -1 : PyObject_IsTrue(object);
  if (truth < 0) return std::nullopt;
  return truth != 0;
}

// Whether two objects are one: what differs now may be the same at another call.
bool Tracer::identical(PyObject* left, PyObject* right) {
  if (left == right) return true;
  const auto place = [&](PyObject* object) {
    return is_fake(object) && recorder_.is_real(object) ? recorder_.source_of(object)
                                                        : source_of(object);
  };
  const SourceId a = place(left), b = place(right);
  if (a && b && kind(left) != Kind::kSingleton && kind(right) != Kind::kSingleton &&
      (Py_TYPE(left) == Py_TYPE(right)))
    guards_.distinct(a, b);
  return false;
}

Owned Tracer::plain_example(PyObject* symbolic) const {
  if (Py_TYPE(symbolic) == known_.sym_int) return Owned::steal(PyLong_FromLong(2));
  if (Py_TYPE(symbolic) == known_.sym_float) return Owned::steal(PyFloat_FromDouble(0.5));
  return Owned::copy(Py_True);
}

}  // namespace triptych::capture
