// isinstance() and issubclass(), step by step: what a metaclass of the program answers is
// interpreted, what abc answers is guarded.
#include <Python.h>

#include <string_view>

#include "capture/guards/abc_token.h"
#include "capture/trace/attribute_names.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {
namespace {

std::string_view module_of(PyObject* function) {
  PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_module;
  const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  PyErr_Clear();
  return text == nullptr ? "" : text;
}

std::string_view type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

// `A | B` and typing.Union[A, B]: the classes; null for anything else.
Owned classes_of_union(PyObject* types) {
  if (type_name(types) != "types.UnionType" && type_name(types) != "_UnionGenericAlias") return {};
  Owned classes = Owned::steal(PyObject_GetAttrString(types, "__args__"));
  if (!classes || !PyTuple_Check(classes.get())) return PyErr_Clear(), Owned();
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(classes.get()); ++k) {
    if (!PyType_Check(PyTuple_GET_ITEM(classes.get(), k))) return {};
  }
  return classes;
}

bool is_protocol(PyObject* type) {
  const Owned mark = Owned::steal(PyObject_GetAttrString(type, "_is_protocol"));
  PyErr_Clear();
  return mark.get() == Py_True;
}

}  // namespace

// Of Python's library or torch's, which does not change.
bool Tracer::is_of_library(PyObject* function) const {
  const std::string_view module = module_of(function);
  const std::string_view root = module.substr(0, module.find('.'));
  if (root == "torch") return true;
  PyObject* names = PySys_GetObject("stdlib_module_names");
  const Owned name =
      Owned::steal(PyUnicode_FromStringAndSize(root.data(), static_cast<Py_ssize_t>(root.size())));
  return names != nullptr && name && PySet_Contains(names, name.get()) == 1;
}

// What stands outside of a trace for a value of it.
Owned Tracer::outside_of(PyObject* object) const {
  // To the program a symbolic number is what it would be without.
  if (is_symbolic(object)) return plain_example(object);
  PyObject* real = Py_TYPE(object) == known_.tensor ? real_of(object) : nullptr;
  return Owned::copy(real == nullptr ? object : real);
}

Owned Tracer::is_instance(PyObject* object, PyObject* types, bool subclass) {
  const Owned local = localized_deep(types);
  if (!local) return {};
  const std::optional<bool> answer = check_class(object, local.get(), subclass);
  return answer ? Owned::copy(*answer ? Py_True : Py_False) : Owned();
}

// As PyObject_IsInstance and PyObject_IsSubclass ask.
std::optional<bool> Tracer::check_class(PyObject* object, PyObject* types, bool subclass) {
  const Owned outside = outside_of(object);
  if (!subclass && reinterpret_cast<PyObject*>(Py_TYPE(outside.get())) == types) return true;
  const Owned united = classes_of_union(types);
  if (united || PyTuple_Check(types)) {
    PyObject* all = united ? united.get() : types;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(all); ++k) {
      const std::optional<bool> answer = check_class(object, PyTuple_GET_ITEM(all, k), subclass);
      if (!answer || *answer) return answer;
    }
    return false;
  }
  if (!has_own_metaclass(types)) {
    std::optional<bool> answer = check_natively(outside.get(), types, subclass);
    if (answer && !*answer && !PyType_Check(types))  // of `typing`
      note_refusal(types, outside.get(), subclass);
    return answer;
  }
  static PyObject* const names[] = {interned("__instancecheck__"), interned("__subclasscheck__")};
  PyObject* checker = class_attribute(Py_TYPE(types), names[subclass]);
  if (checker == (subclass ? known_.abc_subclass_check : known_.abc_instance_check))
    return check_abstract(object, types, subclass);
  if (checker == nullptr || checker == _PyType_Lookup(&PyType_Type, names[subclass]))
    return check_natively(outside.get(), types, subclass);
  if (Py_TYPE(checker) == &PyFunction_Type && is_of_library(checker)) {
    if (is_protocol(types)) {
      stop("break.call", std::string("a check against the protocol ") +
                             reinterpret_cast<PyTypeObject*>(types)->tp_name);
      return std::nullopt;
    }
    std::optional<bool> answer = check_natively(outside.get(), types, subclass);
    if (answer && !*answer && module_of(checker) == "typing")
      note_refusal(types, outside.get(), subclass);
    return answer;
  }
  if (Py_TYPE(checker) != &PyFunction_Type) {
    stop("break.call",
         std::string("a check against ") + reinterpret_cast<PyTypeObject*>(types)->tp_name);
    return std::nullopt;
  }
  PyObject* arguments[] = {types, object};
  const Owned answer = call(checker, {arguments, 2, nullptr});
  return answer ? truth(answer.get()) : std::nullopt;
}

std::optional<bool> Tracer::check_natively(PyObject* object, PyObject* types, bool subclass) {
  ++native_depth_;
  const int answer =
      subclass ? PyObject_IsSubclass(object, types) : PyObject_IsInstance(object, types);
  --native_depth_;
  return answer < 0 ? std::nullopt : std::optional(answer != 0);
}

// An abstract class never takes back that something is its instance; that it is none holds until
// classes are registered. A metaclass may still have its own word on subclasses.
std::optional<bool> Tracer::check_abstract(PyObject* object, PyObject* type, bool subclass) {
  static PyObject* const name = interned("__subclasscheck__");
  const bool asks_program =
      !subclass && class_attribute(Py_TYPE(type), name) != known_.abc_subclass_check;
  const Owned outside = outside_of(object);
  PyObject* arguments[] = {type, outside.get()};
  if (!asks_program) ++native_depth_;
  const Owned answer = Owned::steal(PyObject_Vectorcall(
      subclass ? known_.abc_is_subclass : known_.abc_is_instance, arguments, 2, nullptr));
  if (!asks_program) --native_depth_;
  const int holds = answer ? PyObject_IsTrue(answer.get()) : -1;
  if (holds < 0) return std::nullopt;
  if (holds == 0) note_refusal(type, outside.get(), subclass);
  PyObject* candidate =
      subclass ? outside.get() : reinterpret_cast<PyObject*>(Py_TYPE(outside.get()));
  if (!asks_program && !follow_subclass_hook(type, candidate)) return std::nullopt;
  return holds != 0;
}

// abc remembers what a `__subclasshook__` answered, but may be made to forget: what it reads is
// guarded. It has run, so it may not write.
bool Tracer::follow_subclass_hook(PyObject* type, PyObject* candidate) {
  static PyObject* const name = interned("__subclasshook__");
  PyObject* hook = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), name);
  if (hook == nullptr || Py_TYPE(hook) == &PyMethodDescr_Type ||
      Py_TYPE(hook) == &PyClassMethodDescr_Type)
    return true;
  const auto refuse = [&](const char* why) {
    PyErr_Clear();
    stop("break.call", std::string("a __subclasshook__ ") + why);
    return false;
  };
  const Owned function = Owned::steal(
      Py_TYPE(hook) == &PyClassMethod_Type ? PyObject_GetAttrString(hook, "__func__") : nullptr);
  if (!function || Py_TYPE(function.get()) != &PyFunction_Type)
    return refuse("that is no classmethod written in Python");
  if (is_of_library(function.get())) return true;
  const std::size_t writes = journal_.entries().size();
  const Owned bound = get_attribute(type, name);
  const Owned again = bound ? call_one(bound.get(), candidate) : Owned();
  if (stopping_) return false;
  if (!again) return refuse("that raises");
  return journal_.entries().size() == writes || refuse("that writes");
}

void Tracer::note_refusal(PyObject* type, PyObject* object, bool subclass) {
  if (refused_.empty()) guards_.abc_token(refused_at_ = abc_token());
  refused_.push_back({keep(Owned::copy(type)), keep(Owned::copy(object)), subclass});
}

// Classes may have been registered while the trace ran: what was refused before is asked again.
bool Tracer::settle_refusals() {
  if (refused_.empty() || abc_token() == refused_at_) return true;
  for (const Refusal& refusal : refused_) {
    const std::optional<bool> answer =
        check_natively(refusal.object, refusal.type, refusal.subclass);
    if (answer && !*answer) continue;
    PyErr_Clear();
    stop("capture.registered", "a class was registered with an abstract one while tracing");
    return false;
  }
  guards_.abc_token(refused_at_ = abc_token());
  return true;
}

}  // namespace triptych::capture
