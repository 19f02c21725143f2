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

bool is_empty(PyObject* container) {
  return container != nullptr && PyDict_Check(container) && PyDict_GET_SIZE(container) == 0;
}

}  // namespace

void guard_module_call(CaptureResult& captured, const PyCodeObject* forward) {
  SourceArena& sources = captured.sources;
  // A decorator may take it with all other arguments, as `*args`.
  const SourceId self =
      forward->co_argcount > 0
          ? sources.slot(0)
          : sources.item(SourceKind::kTupleItem, sources.slot(forward->co_kwonlyargcount), 0);
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
  for (const char* name : kGlobalHooks) {
    if (const Owned hooks = global_hooks(name)) {
      guard_empty(captured, sources.constant(hooks.borrow()));
    }
  }
}

bool calls_forward_only(PyObject* module) {
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
