// Attributes, found as object.__getattribute__ finds them, each step with its source.
#include <Python.h>
#include <structmember.h>

#include <utility>

#include "capture/guards/type_dict.h"
#include "capture/trace/attribute_names.h"
#include "capture/trace/cpython_api.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {
namespace {

bool is_data_descriptor(PyObject* object) { return Py_TYPE(object)->tp_descr_set != nullptr; }

}  // namespace

// Types of C are never changed; those of Python may be: what was found, or that nothing was, is
// guarded once per type and name.
PyObject* Tracer::class_attribute(PyTypeObject* type, PyObject* name, SourceId* source) {
  PyObject* found = _PyType_Lookup(type, name);
  if (!is_python_class(type) && source == nullptr) return found;
  const SourceId place =
      result_.sources.keyed(SourceKind::kClassAttribute, type_source(type), name);
  if (source != nullptr) *source = place;
  if (!is_python_class(type)) return found;
  if (found == nullptr) {
    guards_.absent(place);
    return nullptr;
  }
  switch (kind(found)) {
    case Kind::kLeaf:
      guards_.equals(place, found);
      break;
    case Kind::kSingleton:
      guards_.is(place, found);
      remember(found, place);
      break;
    case Kind::kTensor:
    case Kind::kSubclass:
      break;  // read by whoever takes it
    default:
      if (const SourceId known = source_of(found)) {
        guards_.same(place, known);
      } else {
        guards_.type(place, Py_TYPE(found));
        remember(found, place);
      }
  }
  return found;
}

// The dict of an object's own attributes; null without an exception: it has none.
Owned Tracer::instance_dict(PyObject* owner) {
  PyObject** place = _PyObject_GetDictPtr(owner);
  if (place == nullptr) return {};
  if (*place == nullptr && !Owned::steal(PyObject_GenericGetDict(owner, nullptr))) {
    PyErr_Clear();
    return {};
  }
  const SourceId source = source_of(owner);
  if (source && !is_external(*place))
    remember(*place, result_.sources.step(SourceKind::kInstanceDict, source));
  return Owned::copy(*place);
}

bool Tracer::load_from_descriptor(PyObject* descriptor, SourceId source, PyObject* owner,
                                  PyObject* name, bool method, Owned& value, Owned& self) {
  PyTypeObject* type = Py_TYPE(descriptor);
  if (method && (type->tp_flags & Py_TPFLAGS_METHOD_DESCRIPTOR)) {
    value = Owned::copy(descriptor);
    self = Owned::copy(owner);
    return true;
  }
  if (type == &PyProperty_Type) {
    const Owned getter = Owned::steal(PyObject_GetAttrString(descriptor, "fget"));
    if (!getter) return false;
    if (getter.get() == Py_None) {
      value = Owned::steal(type->tp_descr_get(descriptor, owner, nullptr));  // raises
      return static_cast<bool>(value);
    }
    if (is_python_class(Py_TYPE(owner)) && source)
      remember(getter.get(), result_.sources.step(SourceKind::kPropertyGetter, source));
    value = call_one(getter.get(), owner);
    return static_cast<bool>(value);
  }
  if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) {
    const Owned function = Owned::steal(PyObject_GetAttrString(descriptor, "__func__"));
    if (!function) return false;
    remember(function.get(), result_.sources.step(SourceKind::kWrappedFunction, source));
    PyObject* bound_to = PyType_Check(owner) ? owner : reinterpret_cast<PyObject*>(Py_TYPE(owner));
    value = type == &PyStaticMethod_Type ? Owned::copy(function.get())
                                         : Owned::steal(PyMethod_New(function.get(), bound_to));
    return static_cast<bool>(value);
  }
  if (type->tp_descr_get == nullptr) {
    value = read(descriptor, source);
    return static_cast<bool>(value);
  }
  return load_from_c_descriptor(descriptor, owner, name, value);
}

// A slot, a computed attribute of C, a named tuple's field, or a descriptor written in Python,
// whose frames are interpreted.
bool Tracer::load_from_c_descriptor(PyObject* descriptor, PyObject* owner, PyObject* name,
                                    Owned& value) {
  PyTypeObject* type = Py_TYPE(descriptor);
  const bool external = is_external(owner);
  if (type == &PyMemberDescr_Type && external) {
    auto* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
    const SourceId slot =
        result_.sources.keyed(SourceKind::kMemberSlot, source_of(owner), descriptor);
    if (member->type != T_OBJECT_EX || !slot) {
      stop("break.attribute", std::string("attribute ") + PyUnicode_AsUTF8(name) + " of C type " +
                                  Py_TYPE(owner)->tp_name);
      return false;
    }
    const Owned found = Owned::steal(
        type->tp_descr_get(descriptor, owner, reinterpret_cast<PyObject*>(Py_TYPE(owner))));
    if (journal_.written_slot(owner, descriptor)) {
      value = Owned::copy(found.get());
      return static_cast<bool>(value);
    }
    if (!found) {
      if (PyErr_ExceptionMatches(PyExc_AttributeError)) guards_.absent(slot);
      return false;
    }
    value = read(found.get(), slot);
    return static_cast<bool>(value);
  }
  if (type == &PyGetSetDescr_Type && external) {
    if (equals(name, "__dict__")) {
      value = instance_dict(owner);
      return static_cast<bool>(value);
    }
    const bool is_value = kind(owner) == Kind::kSingleton;  // an enum member that is a number
    if (!equals(name, "__class__") && !is_value) {
      stop("break.attribute", std::string("attribute ") + PyUnicode_AsUTF8(name) + " of C type " +
                                  Py_TYPE(owner)->tp_name);
      return false;
    }
  }
  if (external && PyTuple_Check(owner)) {  // a named tuple's field
    const Owned field = Owned::steal(PyObject_GetAttr(owner, name));
    if (!field) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(owner); ++k) {
      if (PyTuple_GET_ITEM(owner, k) != field.get()) continue;
      value = read_tuple_item(owner, k);
      return static_cast<bool>(value);
    }
  }
  value = Owned::steal(
      type->tp_descr_get(descriptor, owner, reinterpret_cast<PyObject*>(Py_TYPE(owner))));
  return static_cast<bool>(value);
}

// `_parameters`, `_buffers` and `_modules`, in this order, as Module.__getattr__ does.
bool Tracer::load_nn_module_attribute(PyObject* owner, PyObject* dict, PyObject* name,
                                      Owned& value) {
  for (const char* table_name : {"_parameters", "_buffers", "_modules"}) {
    const Owned key = Owned::steal(interned(table_name));
    Owned table;
    if (!key || !look_up(dict, key.get(), table)) return false;
    if (!table) continue;
    if (!PyDict_Check(table.get())) break;
    if (!look_up(table.get(), name, value)) return false;
    if (value) return true;
  }
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(owner)->tp_name,
               name);
  return false;
}

// After an AttributeError: the class' `__getattr__` is asked, whose absence counts too.
bool Tracer::missing_attribute(PyObject* owner, PyObject* name, Owned& value) {
  PyObject *error, *text, *traceback;
  PyErr_Fetch(&error, &text, &traceback);
  const Owned key = Owned::steal(interned("__getattr__"));
  PyObject* fallback = class_attribute(Py_TYPE(owner), key.get());
  if (fallback == nullptr) {
    PyErr_Restore(error, text, traceback);
    return false;
  }
  Py_XDECREF(error);
  Py_XDECREF(text);
  Py_XDECREF(traceback);
  if (fallback == known_.nn_module_getattr) {
    const Owned dict = instance_dict(owner);
    if (dict) return load_nn_module_attribute(owner, dict.get(), name, value);
  }
  PyObject* arguments[] = {owner, name};
  value = call(fallback, {arguments, 2, nullptr});
  return static_cast<bool>(value);
}

bool Tracer::load_generic(PyObject* owner, PyObject* name, bool method, Owned& value, Owned& self) {
  PyTypeObject* type = Py_TYPE(owner);
  SourceId source;
  PyObject* descriptor = class_attribute(type, name, &source);
  const Owned hold = Owned::copy(descriptor);
  if (descriptor != nullptr && is_data_descriptor(descriptor) &&
      Py_TYPE(descriptor)->tp_descr_get != nullptr)
    return load_from_descriptor(descriptor, source, owner, name, method, value, self);
  if (const Owned dict = instance_dict(owner)) {
    if (!look_up(dict.get(), name, value)) return false;
    if (value) return true;
  }
  if (descriptor != nullptr)
    return load_from_descriptor(descriptor, source, owner, name, method, value, self);
  PyErr_Format(PyExc_AttributeError, "'%.50s' object has no attribute '%U'", type->tp_name, name);
  return false;
}

bool Tracer::load_function_attribute(PyObject* owner, PyObject* name, Owned& value) {
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(owner), name);
  const SourceId source = source_of(owner);
  if (!source || descriptor == nullptr || !is_data_descriptor(descriptor)) {
    if (const Owned dict = instance_dict(owner)) {
      if (!look_up(dict.get(), name, value)) return false;
      if (value) return true;
    }
    value = Owned::steal(PyObject_GetAttr(owner, name));
    return static_cast<bool>(value);
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(owner);
  SourceArena& sources = result_.sources;
  if (equals(name, "__code__")) {
    value = read(function->func_code, sources.step(SourceKind::kFunctionCode, source));
  } else if (equals(name, "__dict__")) {
    value = instance_dict(owner);
  } else if (equals(name, "__class__")) {
    value = Owned::copy(reinterpret_cast<PyObject*>(Py_TYPE(owner)));
  } else if (equals(name, "__name__") || equals(name, "__qualname__") ||
             equals(name, "__module__") || equals(name, "__doc__")) {
    pin(owner);
    value = Owned::steal(PyObject_GetAttr(owner, name));  // texts about what is the same function
    if (value && kind(value.get()) != Kind::kLeaf) value = Owned();
  } else if (equals(name, "__defaults__") && function->func_defaults != nullptr) {
    value = read(function->func_defaults, sources.step(SourceKind::kFunctionDefaults, source));
  } else if (equals(name, "__kwdefaults__") && function->func_kwdefaults != nullptr) {
    value = read(function->func_kwdefaults, sources.step(SourceKind::kFunctionKwDefaults, source));
  } else if (equals(name, "__globals__")) {
    prepare_function(function);
    value = Owned::copy(function->func_globals);
  }
  if (!value && !PyErr_Occurred()) {
    stop("break.attribute", std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a function");
  }
  return static_cast<bool>(value);
}

bool Tracer::load_module_attribute(PyObject* owner, PyObject* name, Owned& value) {
  // It may be given another class, which has attributes of its own.
  if (const SourceId source = source_of(owner)) guards_.type(source, Py_TYPE(owner));
  const Owned dict = instance_dict(owner);
  if (!dict || !look_up(dict.get(), name, value)) return false;
  if (value) return true;
  const Owned key = Owned::steal(interned("__getattr__"));
  Owned fallback;
  if (!look_up(dict.get(), key.get(), fallback)) return false;
  if (fallback) {
    value = call_one(fallback.get(), name);
  } else {
    value = Owned::steal(PyObject_GetAttr(owner, name));
    if (value) stop("break.attribute", "an attribute of a module that is not in its dict");
    if (stopping_) value = Owned();
  }
  return static_cast<bool>(value);
}

namespace {

struct Super {  // CPython's object
  PyObject_HEAD PyTypeObject* type;
  PyObject* object;
  PyTypeObject* object_type;
};

}  // namespace

// The first class after `type` in the order of the object's bases that has the name.
bool Tracer::load_super_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                                  Owned& self) {
  const auto* super = reinterpret_cast<Super*>(owner);
  if (super->object_type == nullptr || equals(name, "__class__")) {
    value = Owned::steal(PyObject_GetAttr(owner, name));
    return static_cast<bool>(value);
  }
  PyObject* order = super->object_type->tp_mro;
  const Py_ssize_t count = PyTuple_GET_SIZE(order);
  Py_ssize_t k = 0;
  while (k < count && PyTuple_GET_ITEM(order, k) != reinterpret_cast<PyObject*>(super->type)) ++k;
  for (++k; k < count; ++k) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, k));
    PyObject* own = PyDict_GetItemWithError(type_dict(base), name);
    if (own == nullptr) {
      class_attribute(base, name);  // may be given one, which would come first
      continue;
    }
    SourceId source;
    PyObject* found = class_attribute(base, name, &source);
    // A method of C stays bound, which the calls look into.
    const bool apart = method && Py_TYPE(found) == &PyFunction_Type &&
                       super->object != reinterpret_cast<PyObject*>(super->object_type);
    if (apart) {
      value = Owned::copy(found);
      self = Owned::copy(super->object);
      return true;
    }
    if (Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found)->tp_descr_get == nullptr)
      return load_from_descriptor(found, source, super->object, name, false, value, self);
    value = Owned::steal(PyObject_GetAttr(owner, name));
    return static_cast<bool>(value);
  }
  value = Owned::steal(PyObject_GetAttr(owner, name));
  return static_cast<bool>(value);
}

bool Tracer::load_partial_attribute(PyObject* owner, PyObject* name, Owned& value) {
  const SourceId source = source_of(owner);
  value = Owned::steal(PyObject_GetAttr(owner, name));
  if (!value) return false;
  if (equals(name, "func")) {
    value = read(value.get(), result_.sources.step(SourceKind::kPartialFunction, source));
  } else if (equals(name, "args")) {
    value = read(value.get(), result_.sources.step(SourceKind::kPartialArguments, source));
  } else if (equals(name, "keywords")) {
    value = read(value.get(), result_.sources.step(SourceKind::kPartialKeywords, source));
  } else {
    stop("break.attribute", std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a partial");
    value = Owned();
  }
  return static_cast<bool>(value);
}

bool Tracer::load_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                            Owned& self) {
  PyTypeObject* type = Py_TYPE(owner);
  if (type == known_.tensor) return load_tensor_attribute(owner, name, method, value, self);
  if (type == &PyModule_Type) return load_module_attribute(owner, name, value);
  if (PyType_Check(owner)) return load_type_attribute(owner, name, value);
  if (type == &PyFunction_Type) return load_function_attribute(owner, name, value);
  if (type == &PySuper_Type) return load_super_attribute(owner, name, method, value, self);
  const Kind what = kind(owner);
  const bool plain_c = !is_python_class(type) && (what == Kind::kLeaf || !is_external(owner));
  if (plain_c || what == Kind::kMethod) {
    if (what == Kind::kMethod && !equals(name, "__self__") && !equals(name, "__func__"))
      return load_attribute(PyMethod_GET_FUNCTION(owner), name, false, value, self);
    PyObject* found = nullptr;
    const bool takes_self = method && _PyObject_GetMethod(owner, name, &found) != 0;
    value = Owned::steal(method ? found : PyObject_GetAttr(owner, name));
    if (takes_self) self = Owned::copy(owner);
    return static_cast<bool>(value);
  }
  if (what == Kind::kPartial && is_external(owner))
    return load_partial_attribute(owner, name, value);
  if (is_enum_member(owner)) return load_enum_member(owner, name, method, value, self);
  if (what == Kind::kSingleton && PyType_IsSubtype(type, &PyModule_Type)) {
    if (const SourceId source = source_of(owner)) guards_.type(source, type);
  } else if (what == Kind::kSingleton) {
    // Descriptors, ops, objects of `typing`: never changed once made.
    ++native_depth_;
    PyObject* found = nullptr;
    const bool takes_self = method && _PyObject_GetMethod(owner, name, &found) != 0;
    value = Owned::steal(method ? found : PyObject_GetAttr(owner, name));
    if (takes_self) self = Owned::copy(owner);
    --native_depth_;
    return static_cast<bool>(value);
  }
  return load_object_attribute(owner, name, method, value, self);
}

bool Tracer::load_object_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                                   Owned& self) {
  PyTypeObject* type = Py_TYPE(owner);
  const Owned key = Owned::steal(interned("__getattribute__"));
  if (type->tp_getattro != PyObject_GenericGetAttr) {
    PyObject* finder = class_attribute(type, key.get());
    const bool of_module = finder == _PyType_Lookup(&PyModule_Type, key.get()) &&
                           type->tp_getattro != PyModule_Type.tp_getattro;
    if (finder != _PyType_Lookup(&PyBaseObject_Type, key.get()) && !of_module) {
      if (!is_python_class(type) || Py_TYPE(finder) != &PyFunction_Type) {
        if (is_external(owner)) {
          stop("break.attribute",
               std::string("attribute ") + PyUnicode_AsUTF8(name) + " of C type " + type->tp_name);
          return false;
        }
      }
      value = Owned::steal(PyObject_GetAttr(owner, name));  // its own frames
      return static_cast<bool>(value);
    }
  }
  if (load_generic(owner, name, method, value, self)) return true;
  if (stopping_ || !PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
  return missing_attribute(owner, name, value);
}

Owned Tracer::get_attribute(PyObject* owner, PyObject* name) {
  Owned value, self;
  if (!load_attribute(owner, name, false, value, self)) return {};
  return value;
}

// Of `__slots__`; others belong to types of C.
bool Tracer::write_slot(PyObject* owner, PyObject* name, PyObject* slot) {
  const bool is_slot = Py_TYPE(slot) == &PyMemberDescr_Type &&
                       is_python_class(PyDescr_TYPE(slot)) &&
                       reinterpret_cast<PyMemberDescrObject*>(slot)->d_member->type == T_OBJECT_EX;
  if (!is_slot) {
    stop("break.store", std::string("a write to attribute ") + PyUnicode_AsUTF8(name) +
                            " of C type " + Py_TYPE(owner)->tp_name);
    return false;
  }
  return journal_.keep_slot(owner, slot, source_of(owner));
}

bool Tracer::store_generic(PyObject* owner, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(owner);
  SourceId source;
  PyObject* descriptor = class_attribute(type, name, &source);
  const Owned hold = Owned::copy(descriptor);
  if (descriptor != nullptr && is_data_descriptor(descriptor)) {
    if (Py_TYPE(descriptor) == &PyProperty_Type) {
      const Owned setter =
          Owned::steal(PyObject_GetAttrString(descriptor, value == nullptr ? "fdel" : "fset"));
      if (!setter) return false;
      if (setter.get() != Py_None) {
        PyObject* member =
            PyDict_GetItemString(type_dict(&PyProperty_Type), value == nullptr ? "fdel" : "fset");
        remember(setter.get(), result_.sources.keyed(SourceKind::kMemberSlot, source, member));
        PyObject* arguments[] = {owner, value};
        return static_cast<bool>(
            call(setter.get(), {arguments, value == nullptr ? 1 : 2, nullptr}));
      }
    } else if (is_external(owner) && !is_python_class(Py_TYPE(descriptor)) &&
               !write_slot(owner, name, descriptor)) {
      return false;
    }
    return PyObject_GenericSetAttr(owner, name, value) == 0;
  }
  if (is_external(owner)) {
    const Owned dict = instance_dict(owner);
    if (!dict) {
      stop("break.store", std::string("a write to an object of type ") + type->tp_name);
      return false;
    }
    if (value == nullptr) {
      Owned found;
      if (!look_up(dict.get(), name, found)) return false;
    }
    if (!before_dict_write(dict.get(), name, value == nullptr)) return false;
  }
  return PyObject_GenericSetAttr(owner, name, value) == 0;
}

bool Tracer::store_attribute(PyObject* owner, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(owner);
  if (type == known_.tensor || PyType_Check(owner) || type == &PyModule_Type ||
      (type == &PyFunction_Type && is_external(owner))) {
    if (PyType_Check(owner) && !is_python_class(reinterpret_cast<PyTypeObject*>(owner)))
      return PyObject_SetAttr(owner, name, value) == 0;
    stop("break.store",
         std::string("a write to attribute ") + PyUnicode_AsUTF8(name) + " of a " + type->tp_name);
    return false;
  }
  if (type->tp_setattro == PyObject_GenericSetAttr) {
    if (!is_python_class(type) && is_external(owner) && type != &PyFunction_Type) {
      stop("break.store", std::string("a write to an object of type ") + type->tp_name);
      return false;
    }
    return store_generic(owner, name, value);
  }
  const Owned key = Owned::steal(interned(value == nullptr ? "__delattr__" : "__setattr__"));
  PyObject* setter = class_attribute(type, key.get());
  if (setter == _PyType_Lookup(&PyBaseObject_Type, key.get()))
    return store_generic(owner, name, value);
  if (Py_TYPE(setter) != &PyFunction_Type && is_external(owner)) {
    stop("break.store", std::string("a write to an object of type ") + type->tp_name);
    return false;
  }
  return PyObject_SetAttr(owner, name, value) == 0;  // its own frames
}

}  // namespace triptych::capture
