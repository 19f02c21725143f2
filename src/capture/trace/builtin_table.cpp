#include "capture/trace/builtin_table.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "capture/guards/type_dict.h"
#include "capture/trace/builtin_rules.h"
#include "capture/trace/cpython_api.h"

namespace triptych::capture {
namespace {

using Rules = std::unordered_map<const void*, BuiltinRule>;
using Run = BuiltinRule::Run;

struct MethodWrapper {  // CPython's object
  PyObject_HEAD PyObject* descriptor;
  PyObject* self;
};

const void* definition(PyObject* object) {
  if (Py_TYPE(object) == &PyCFunction_Type)
    return reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  if (Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyClassMethodDescr_Type)
    return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  return object;
}

void add_methods(Rules& rules, PyTypeObject* type, Run run) {
  PyObject *name, *value;
  Py_ssize_t place = 0;
  while (PyDict_Next(type_dict(type), &place, &name, &value)) {
    if (Py_TYPE(value) == &PyMethodDescr_Type || Py_TYPE(value) == &PyWrapperDescr_Type ||
        Py_TYPE(value) == &PyClassMethodDescr_Type)
      rules[definition(value)] = {run};
  }
}

void set_methods(Rules& rules, PyTypeObject* type, Run run,
                 std::initializer_list<const char*> names) {
  for (const char* name : names) {
    PyObject* value = PyDict_GetItemString(type_dict(type), name);
    if (value != nullptr) rules[definition(value)] = {run};
  }
}

void set_functions(Rules& rules, const char* module, Run run,
                   std::initializer_list<const char*> names) {
  const Owned object = Owned::steal(PyImport_ImportModule(module));
  for (const char* name : names) {
    const Owned value = Owned::steal(object ? PyObject_GetAttrString(object.get(), name) : nullptr);
    if (value) {
      rules[definition(value.get())] = {run};
    } else {
      PyErr_Clear();  // of another version
    }
  }
}

// All functions and types of a module of C that only compute.
void add_module(Rules& rules, const char* module, Run run) {
  const Owned object = Owned::steal(PyImport_ImportModule(module));
  if (!object) return PyErr_Clear();
  PyObject *name, *value;
  Py_ssize_t place = 0;
  while (PyDict_Next(PyModule_GetDict(object.get()), &place, &name, &value)) {
    if (Py_TYPE(value) == &PyCFunction_Type || PyType_Check(value))
      rules[definition(value)] = {run};
  }
}

void add_types(Rules& rules, Run run, std::initializer_list<PyTypeObject*> types) {
  for (PyTypeObject* type : types) rules[type] = {run};
}

void add_containers(Rules& rules) {
  for (PyTypeObject* type :
       {&PyUnicode_Type, &PyBytes_Type,     &PyLong_Type,        &PyFloat_Type,
        &PyComplex_Type, &PyBool_Type,      &PyTuple_Type,       &PyList_Type,
        &PyDict_Type,    &PySet_Type,       &PyFrozenSet_Type,   &PyRange_Type,
        &PySlice_Type,   &PyDictKeys_Type,  &PyDictValues_Type,  &PyDictItems_Type,
        &PyODict_Type,   &PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type})
    add_methods(rules, type, rules::pure);
  for (PyTypeObject* type : {&PyGen_Type, &PyDictIterKey_Type, &PyTupleIter_Type, &PyListIter_Type})
    add_methods(rules, type, rules::of_fresh);
  set_methods(rules, &PyUnicode_Type, rules::pure_deep,
              {"format", "format_map", "__mod__", "join"});
  set_methods(rules, &PyDict_Type, rules::dict_get, {"get"});
  set_methods(rules, &PyDict_Type, rules::dict_item, {"__getitem__"});
  set_methods(rules, &PyDict_Type, rules::contains, {"__contains__"});
  set_methods(rules, &PyDict_Type, rules::dict_set, {"__setitem__"});
  set_methods(rules, &PyDict_Type, rules::dict_delete, {"__delitem__"});
  set_methods(rules, &PyDict_Type, rules::dict_pop, {"pop"});
  set_methods(rules, &PyDict_Type, rules::dict_set_default, {"setdefault"});
  set_methods(rules, &PyDict_Type, rules::dict_update, {"update"});
  set_methods(rules, &PyDict_Type, rules::dict_write, {"clear", "popitem", "__ior__"});
  set_methods(rules, &PyDict_Type, rules::mutates_fresh, {"__init__"});
  set_methods(rules, &PyODict_Type, rules::dict_write,
              {"pop", "popitem", "move_to_end", "update", "setdefault", "clear", "__setitem__",
               "__delitem__", "__ior__"});
  set_methods(rules, &PyODict_Type, rules::mutates_fresh, {"__init__"});
  set_methods(rules, &PyList_Type, rules::mutates,
              {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
               "__setitem__", "__delitem__", "__iadd__", "__imul__", "__init__"});
  set_methods(rules, &PySet_Type, rules::mutates,
              {"add", "discard", "remove", "pop", "clear", "update", "difference_update",
               "intersection_update", "symmetric_difference_update", "__iand__", "__ior__",
               "__isub__", "__ixor__", "__init__"});
  for (PyTypeObject* type : {&PyTuple_Type, &PyList_Type})
    set_methods(rules, type, rules::contains, {"__contains__"});
}

void add_object_methods(Rules& rules) {
  add_methods(rules, &PyBaseObject_Type, rules::of_fresh);
  set_methods(rules, &PyBaseObject_Type, rules::generic_get, {"__getattribute__"});
  set_methods(rules, &PyBaseObject_Type, rules::generic_set, {"__setattr__"});
  set_methods(rules, &PyBaseObject_Type, rules::generic_delete, {"__delattr__"});
  set_methods(rules, &PyBaseObject_Type, rules::hold, {"__init__", "__init_subclass__"});
  set_methods(rules, &PyBaseObject_Type, rules::reduce_object, {"__reduce_ex__"});
  set_methods(rules, &PyType_Type, rules::type_call, {"__call__"});
  set_methods(rules, &PyType_Type, rules::type_get, {"__getattribute__"});
  set_methods(rules, &PyType_Type, rules::type_instance, {"__instancecheck__"});
  set_methods(rules, &PyType_Type, rules::type_subclass, {"__subclasscheck__"});
  PyObject* make = PyDict_GetItemString(type_dict(&PyBaseObject_Type), "__new__");
  rules[definition(make)] = {rules::c_new};
  auto* exception = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  add_methods(rules, exception, rules::hold_own);
  PyObject* builtins = PyEval_GetBuiltins();
  PyObject *name, *value;
  Py_ssize_t place = 0;
  while (PyDict_Next(builtins, &place, &name, &value)) {
    if (!PyType_Check(value) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value), exception))
      continue;
    rules[value] = {rules::hold};
    add_methods(rules, reinterpret_cast<PyTypeObject*>(value), rules::hold_own);
  }
}

void add_builtins(Rules& rules) {
  set_functions(rules, "builtins", rules::pure,
                {"ascii", "bin", "chr", "divmod", "format", "hex", "iter", "next", "oct", "ord",
                 "repr", "round"});
  set_functions(rules, "builtins", rules::operate, {"abs", "pow"});
  set_functions(rules, "builtins", rules::pure_deep, {"ascii", "format", "repr"});
  set_functions(rules, "builtins", rules::sum, {"sum"});
  set_functions(rules, "builtins", rules::order, {"max", "min", "sorted"});
  set_functions(rules, "builtins", rules::any, {"any"});
  set_functions(rules, "builtins", rules::all, {"all"});
  set_functions(rules, "builtins", rules::len, {"len"});
  set_functions(rules, "builtins", rules::identity, {"id"});
  set_functions(rules, "builtins", rules::hash, {"hash"});
  set_functions(rules, "builtins", rules::variables, {"vars"});
  set_functions(rules, "builtins", rules::hold, {"callable"});
  set_functions(rules, "builtins", rules::is_instance, {"isinstance"});
  set_functions(rules, "builtins", rules::is_subclass, {"issubclass"});
  set_functions(rules, "_abc", rules::abc_instance, {"_abc_instancecheck"});
  set_functions(rules, "_abc", rules::abc_subclass, {"_abc_subclasscheck"});
  set_functions(rules, "builtins", rules::get_attribute, {"getattr"});
  set_functions(rules, "builtins", rules::has_attribute, {"hasattr"});
  set_functions(rules, "builtins", rules::set_attribute, {"setattr"});
  set_functions(rules, "builtins", rules::delete_attribute, {"delattr"});
  add_types(rules, rules::pure,
            {&PyTuple_Type, &PyList_Type, &PyDict_Type, &PySet_Type, &PyFrozenSet_Type, &PyZip_Type,
             &PyEnum_Type, &PyReversed_Type, &PyRange_Type, &PySlice_Type, &PyLong_Type,
             &PyFloat_Type, &PyComplex_Type, &PyBytes_Type, &PyODict_Type});
  rules[&PyMap_Type] = {rules::map};
  rules[&PyFilter_Type] = {rules::filter};
  rules[&PyUnicode_Type] = {rules::pure_deep};
  rules[&PyBool_Type] = {rules::to_bool};
  rules[&PyType_Type] = {rules::type_of};
  add_types(rules, rules::hold,
            {&PySuper_Type, &PyBaseObject_Type, &PyMethod_Type, &PyStaticMethod_Type,
             &PyClassMethod_Type, &PyProperty_Type});
}

// Of `collections`: what is made while tracing is like any other container.
void add_collections(Rules& rules) {
  const Owned module = Owned::steal(PyImport_ImportModule("collections"));
  for (const char* name : {"deque", "defaultdict"}) {
    const Owned object = Owned::steal(PyObject_GetAttrString(module.get(), name));
    if (!object) return;
    auto* type = reinterpret_cast<PyTypeObject*>(object.get());
    add_methods(rules, type, rules::mutates_fresh);
    rules[type] = {rules::pure};
  }
}

void add_torch(Rules& rules) {
  set_functions(rules, "torch._C", rules::query,
                {"is_grad_enabled",
                 "is_inference_mode_enabled",
                 "is_autocast_enabled",
                 "is_autocast_cpu_enabled",
                 "is_autocast_cache_enabled",
                 "get_autocast_dtype",
                 "get_autocast_cpu_dtype",
                 "get_autocast_gpu_dtype",
                 "is_anomaly_enabled",
                 "_get_tracing_state",
                 "_is_tracing",
                 "_has_torch_function",
                 "_has_torch_function_unary",
                 "_has_torch_function_variadic",
                 "_get_cudnn_enabled",
                 "_get_cudnn_benchmark",
                 "_get_cudnn_deterministic",
                 "_get_cudnn_allow_tf32",
                 "_get_mkldnn_enabled",
                 "_get_nnpack_enabled",
                 "_get_deterministic_algorithms",
                 "_get_deterministic_algorithms_warn_only",
                 "_log_api_usage_once",
                 "get_default_dtype",
                 "_is_torch_function_enabled",
                 "_is_torch_function_mode_enabled",
                 "_are_functorch_transforms_active",
                 "_is_torch_function_all_disabled",
                 "_len_torch_function_stack",
                 "_len_torch_dispatch_stack",
                 "_get_math_sdp_enabled",
                 "_get_flash_sdp_enabled",
                 "_get_mem_efficient_sdp_enabled",
                 "_get_cudnn_sdp_enabled",
                 "_get_overrideable_sdp_enabled",
                 "_get_privateuse1_backend_name",
                 "_is_inference_mode_enabled",
                 "_is_any_autocast_enabled",
                 "_is_autocast_available",
                 "_is_flash_attention_available",
                 "_get_autocast_dtype",
                 "_has_mkldnn",
                 "_has_cuda"});
  set_functions(
      rules, "torch._C", rules::set_mode,
      {"_set_grad_enabled", "set_autocast_enabled", "set_autocast_cpu_enabled",
       "set_autocast_gpu_enabled", "set_autocast_dtype", "set_autocast_cpu_dtype",
       "set_autocast_gpu_dtype", "set_autocast_cache_enabled", "autocast_increment_nesting",
       "autocast_decrement_nesting", "clear_autocast_cache"});
  set_functions(rules, "torch", rules::query,
                {"get_default_dtype", "is_grad_enabled", "is_tensor"});
  set_functions(rules, "torch", rules::pure, {"finfo", "iinfo", "Size", "device"});
  const Owned size = Owned::steal(PyImport_ImportModule("torch"));
  const Owned type = Owned::steal(PyObject_GetAttrString(size.get(), "Size"));
  add_methods(rules, reinterpret_cast<PyTypeObject*>(type.get()), rules::pure);
}

Rules make_rules() {
  Rules rules;
  add_object_methods(rules);
  add_containers(rules);
  add_builtins(rules);
  add_collections(rules);
  for (const char* module : {"math", "cmath", "_bisect", "_heapq"})
    add_module(rules, module, rules::pure);
  set_functions(rules, "_bisect", rules::mutates, {"insort", "insort_left", "insort_right"});
  set_functions(rules, "_heapq", rules::mutates,
                {"heappush", "heappop", "heapify", "heapreplace", "heappushpop", "_heappop_max",
                 "_heapify_max", "_heapreplace_max"});
  add_module(rules, "itertools", rules::pure);
  add_module(rules, "_operator", rules::operate);
  set_functions(rules, "functools", rules::reduce, {"reduce"});
  set_functions(rules, "functools", rules::hold, {"partial"});
  set_functions(rules, "itertools", rules::pure, {"chain"});
  set_functions(rules, "sys", rules::hold, {"exc_info", "intern"});
  const Owned chain = Owned::steal(PyImport_ImportModule("itertools"));
  const Owned chain_type = Owned::steal(PyObject_GetAttrString(chain.get(), "chain"));
  set_methods(rules, reinterpret_cast<PyTypeObject*>(chain_type.get()), rules::pure,
              {"from_iterable"});
  add_torch(rules);
  PyErr_Clear();
  return rules;
}

}  // namespace

CFunction c_function_of(PyObject* callable) {
  CFunction c;
  c.callable = callable;
  c.key = definition(callable);
  if (Py_TYPE(callable) == &PyCFunction_Type) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    // A function made by pybind11 is bound to a record of itself.
    const bool is_record =
        self != nullptr &&
        std::string_view(Py_TYPE(self)->tp_name).find("pybind11_detail_") != std::string_view::npos;
    if (self != nullptr && !PyModule_Check(self) && !is_record) c.self = self;
  } else if (Py_TYPE(callable) == method_wrapper_type()) {
    const auto* wrapper = reinterpret_cast<MethodWrapper*>(callable);
    c.key = wrapper->descriptor;
    c.self = wrapper->self;
  }
  return c;
}

const BuiltinRule* builtin_rule(const Library&, const CFunction& function) {
  static const Rules rules = make_rules();
  const auto found = rules.find(function.key);
  return found == rules.end() ? nullptr : &found->second;
}

bool is_torch_function(const Library& known, const CFunction& function) {
  if (Py_TYPE(function.callable) != &PyCFunction_Type) return false;
  PyObject* self = PyCFunction_GET_SELF(function.callable);
  if (self == known.torch_c) return false;  // state, not computation
  PyObject* module = reinterpret_cast<PyCFunctionObject*>(function.callable)->m_module;
  const char* text =
      module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    if (self == nullptr || !PyModule_Check(self)) return false;
    text = PyModule_GetName(self);
    if (text == nullptr) return PyErr_Clear(), false;
  }
  const std::string_view name = text;
  return name == "torch" || name == "torch._C._nn" || name == "torch._C._linalg" ||
         name == "torch._C._fft" || name == "torch._C._special";
}

PyObject* tensor_method_name(const Library& known, const CFunction& function) {
  PyObject* callable = function.callable;
  if (Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyWrapperDescr_Type) {
    const auto* descriptor = reinterpret_cast<PyDescrObject*>(callable);
    return PyType_IsSubtype(descriptor->d_type, known.tensor_base) ? descriptor->d_name : nullptr;
  }
  if (function.self == nullptr || Py_TYPE(function.self) != known.tensor) return nullptr;
  if (Py_TYPE(callable) == &PyCFunction_Type) {
    static PyObject* const names = PyDict_New();  // interned once
    const char* text = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
    const Owned name = Owned::steal(PyUnicode_InternFromString(text));
    PyDict_SetItem(names, name.get(), name.get());
    return PyDict_GetItem(names, name.get());
  }
  if (Py_TYPE(callable) == method_wrapper_type()) {
    const auto* wrapper = reinterpret_cast<MethodWrapper*>(callable);
    return reinterpret_cast<PyDescrObject*>(wrapper->descriptor)->d_name;
  }
  return nullptr;
}

bool is_plain_new(PyTypeObject* type) {
  return type->tp_new == PyBaseObject_Type.tp_new || type->tp_new == PyDict_Type.tp_new ||
         type->tp_new == PyODict_Type.tp_new || type->tp_new == PyList_Type.tp_new ||
         type->tp_new == PySet_Type.tp_new ||
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

namespace {

struct NamedFunction {
  const char* module;
  const char* name;
  FunctionRule rule;
};

using Kind = FunctionRule::Kind;

std::unordered_map<PyObject*, FunctionRule> make_function_rules() {
  const NamedFunction named[] = {
      {"torch.compiler", "is_compiling", {Kind::kConstant, false, Py_True}},
      {"torch._utils", "is_compiling", {Kind::kConstant, false, Py_True}},
      {"torch.compiler", "is_dynamo_compiling", {Kind::kConstant, false, Py_True}},
      {"torch.compiler", "is_exporting", {Kind::kConstant, false, Py_False}},
      {"torch.jit", "is_scripting", {Kind::kConstant, false, Py_False}},
      {"torch.jit", "is_tracing", {Kind::kConstant, false, Py_False}},
      {"torch.cuda", "is_available", {Kind::kNative}},
      {"torch.cuda", "device_count", {Kind::kNative}},
      {"torch.cuda", "is_current_stream_capturing", {Kind::kConstant, false, Py_False}},
      {"torch.xpu", "is_current_stream_capturing", {Kind::kConstant, false, Py_False}},
      {"torch.autograd", "grad", {Kind::kBreak, false, nullptr, ""}},
      {"torch.autograd", "backward", {Kind::kBreak, false, nullptr, ""}},
      {"torch", "manual_seed", {Kind::kBreak, false, nullptr, "seed outside"}},
      {"torch", "seed", {Kind::kBreak, false, nullptr, "seed outside"}},
      {"torch", "set_rng_state", {Kind::kBreak, false, nullptr, ""}},
      {"torch", "get_rng_state", {Kind::kBreak, false, nullptr, ""}},
      {"torch", "set_default_dtype", {Kind::kBreak, false, nullptr, ""}},
      {"torch", "set_default_device", {Kind::kBreak, false, nullptr, ""}},
      {"torch.random", "fork_rng", {Kind::kBreak, false, nullptr, ""}},
      {"warnings", "warn", {Kind::kBreak, false, nullptr, ""}},
      {"inspect", "signature", {Kind::kNative}},
  };
  std::unordered_map<PyObject*, FunctionRule> rules;
  for (const NamedFunction& entry : named) {
    const Owned module = Owned::steal(PyImport_ImportModule(entry.module));
    PyObject* function =
        module ? PyObject_GetAttrString(module.get(), entry.name) : nullptr;  // kept
    if (function == nullptr) {
      PyErr_Clear();
      continue;
    }
    rules[function] = entry.rule;
  }
  return rules;
}

// Library code that is one node, whatever it does inside.
bool is_torch_library(PyFunctionObject* function) {
  PyObject* module = function->func_module;
  if (module == nullptr || !PyUnicode_Check(module)) return false;
  const char* text = PyUnicode_AsUTF8(module);
  if (text == nullptr) return PyErr_Clear(), false;
  const std::string_view name = text;
  return name == "torch.nn.functional" || name == "torch.functional" || name == "torch._tensor" ||
         name == "torch._VF";
}

}  // namespace

// Methods of symbolic numbers, which C code calls.
static bool is_symbolic_method(PyFunctionObject* function) {
  const char* name = PyUnicode_AsUTF8(function->func_qualname);
  if (name == nullptr) return PyErr_Clear(), false;
  const std::string_view text = name;
  return (text.starts_with("SymInt.") || text.starts_with("SymBool.") ||
          text.starts_with("SymFloat.") || text.starts_with("_make_user_magic.")) &&
         PyUnicode_Check(function->func_module) &&
         std::string_view(PyUnicode_AsUTF8(function->func_module)).starts_with("torch");
}

// Functions of modules that load only when a program uses them.
static const FunctionRule* late_rule(const PyFunctionObject* function) {
  using Kind = FunctionRule::Kind;
  static const struct {
    const char* module;
    const char* name;
    FunctionRule rule;
  } kRules[] = {
      // Once Dynamo has run in a process, each new nn.Module is noted for it; no program sees the
      // note.
      {"torch._dynamo.mutation_guard", "GenerationTracker.tag", {Kind::kConstant, false, Py_None}},
      {"torch._dynamo.decorators", "graph_break", {Kind::kBreak}},
      {"torch._higher_order_ops.invoke_subgraph",
       "invoke_subgraph_placeholder",
       {Kind::kFirstArgument}},
  };
  if (function->func_module == nullptr || !PyUnicode_Check(function->func_module)) return nullptr;
  for (const auto& [module, name, rule] : kRules) {
    if (PyUnicode_CompareWithASCIIString(function->func_qualname, name) == 0 &&
        PyUnicode_CompareWithASCIIString(function->func_module, module) == 0) {
      return &rule;
    }
  }
  return nullptr;
}

FunctionRule function_rule(const Library& known, PyObject* function) {
  static const auto named = make_function_rules();
  const auto found = named.find(function);
  if (found != named.end()) return found->second;
  FunctionRule rule;
  auto* object = reinterpret_cast<PyFunctionObject*>(function);
  if (const FunctionRule* const late = late_rule(object)) return *late;
  if (is_symbolic_method(object)) rule.kind = FunctionRule::Kind::kTorch;
  if (!is_torch_library(object)) return rule;
  rule.kind = FunctionRule::Kind::kTorch;
  rule.is_method = _PyType_Lookup(known.tensor, object->func_name) == function;
  return rule;
}

}  // namespace triptych::capture
