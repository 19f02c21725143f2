#include "capture/region/module_call.h"

#include "capture/guards/load_steps.h"

namespace triptych::capture {
namespace {

constexpr const char* kOwnHooks[] = {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                                     "_backward_pre_hooks"};
constexpr const char* kGlobalHooks[] = {"_global_forward_hooks", "_global_forward_pre_hooks",
                                        "_global_backward_hooks", "_global_backward_pre_hooks"};
// Attributes that a module has only when something takes its call over.
constexpr const char* kOverrides[] = {"forward", "_call_impl", "__call__"};
constexpr const char* kCompiledCall = "_compiled_call_impl";

Owned name_of(const char* text) { return Owned::steal(PyUnicode_InternFromString(text)); }

// torch.nn.modules.module.<name>; null where this torch has no such thing.
Owned global_hooks(const char* name) {
  const Owned module = Owned::steal(PyImport_ImportModule("torch.nn.modules.module"));
  Owned hooks = Owned::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  PyErr_Clear();
  return hooks;
}

void guard_empty(CaptureResult& captured, SourceId source) {
  Guard guard{GuardKind::kLength, source};
  captured.guards.guards.push_back(std::move(guard));
}

constexpr const char* kCallNames[] = {"forward", "__call__"};

PyObject* of_class(PyObject* module, const char* name) {
  return _PyType_Lookup(Py_TYPE(module), name_of(name).get());
}

// Whether the module's class still has the forward that was compiled, and calls it as all do.
bool class_calls(PyObject* module, PyObject* forward) {
  static PyObject* const plain_call = [] {
    const Owned nn = Owned::steal(PyImport_ImportModule("torch.nn"));
    const Owned type = Owned::steal(nn ? PyObject_GetAttrString(nn.get(), "Module") : nullptr);
    PyObject* const call = type ? PyObject_GetAttrString(type.get(), "__call__") : nullptr;
    PyErr_Clear();
    return call;  // kept
  }();
  return of_class(module, "forward") == forward && of_class(module, "__call__") == plain_call;
}

bool is_empty(PyObject* container) {
  return container != nullptr && PyDict_Check(container) && PyDict_GET_SIZE(container) == 0;
}

}  // namespace

void guard_module_call(CaptureResult& captured, const FrameState& start) {
  SourceArena& sources = captured.sources;
  const auto* forward =
      reinterpret_cast<const PyCodeObject*>(PyFunction_GET_CODE(start.function.get()));
  // A decorator may take it with all other arguments, as `*args`.
  const bool is_named = forward->co_argcount > 0;
  const int slot = is_named ? 0 : forward->co_kwonlyargcount;
  PyObject* const value = start.slots[static_cast<std::size_t>(slot)].get();
  PyObject* const module = is_named ? value : PyTuple_GET_ITEM(value, 0);
  const SourceId self =
      is_named ? sources.slot(slot) : sources.item(SourceKind::kTupleItem, sources.slot(slot), 0);
  const SourceId dict = sources.step(SourceKind::kInstanceDict, self);
  for (const char* name : kOwnHooks) {
    const Owned key = name_of(name);
    guard_empty(captured, sources.keyed(SourceKind::kDictItem, dict, key.borrow()));
  }
  for (const char* name : kOverrides) {
    const Owned key = name_of(name);
    captured.guards.guards.push_back(
        {GuardKind::kAbsent, sources.keyed(SourceKind::kDictItem, dict, key.borrow())});
  }
  const Owned compiled = name_of(kCompiledCall);
  const SourceId type = sources.step(SourceKind::kType, self);
  // None, unless `module.compile()` was called; a class attribute until then.
  captured.guards.guards.push_back(
      {GuardKind::kAbsent, sources.keyed(SourceKind::kDictItem, dict, compiled.borrow())});
  Guard none{GuardKind::kEquals,
             sources.keyed(SourceKind::kClassAttribute, type, compiled.borrow())};
  none.object = Owned::copy(Py_None);
  captured.guards.guards.push_back(std::move(none));
  for (const char* name : kCallNames) {
    const Owned key = name_of(name);
    Guard same{GuardKind::kIs, sources.keyed(SourceKind::kClassAttribute, type, key.borrow())};
    same.object = Owned::copy(of_class(module, name));
    captured.guards.guards.push_back(std::move(same));
  }
  for (const char* name : kGlobalHooks) {
    if (const Owned hooks = global_hooks(name)) {
      guard_empty(captured, sources.constant(hooks.borrow()));
    }
  }
}

bool calls_forward_only(PyObject* module, PyObject* forward) {
  if (!class_calls(module, forward)) return false;
  PyObject* const dict = instance_dict(module);
  if (dict == nullptr) return false;
  for (const char* name : kOwnHooks) {
    if (!is_empty(PyDict_GetItemString(dict, name))) return false;
  }
  for (const char* name : kOverrides) {
    if (PyDict_GetItemString(dict, name) != nullptr) return false;
  }
  if (PyDict_GetItemString(dict, kCompiledCall) != nullptr) return false;
  for (const char* name : kGlobalHooks) {
    const Owned hooks = global_hooks(name);
    if (hooks && !is_empty(hooks.get())) return false;
  }
  return true;
}

}  // namespace triptych::capture
