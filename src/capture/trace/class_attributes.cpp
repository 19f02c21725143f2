// Attributes and items of classes and enum members: found as type.__getattribute__ finds them, what
// a metaclass written in Python has or lacks included.
#include <Python.h>

#include "capture/guards/type_dict.h"
#include "capture/trace/attribute_names.h"
#include "capture/trace/builtin_table.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {
namespace {

bool is_data_descriptor(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type->tp_descr_set != nullptr && type->tp_descr_get != nullptr;
}

// `__name__`, `__mro__`, ...: what C computes of the class.
bool is_computed_by_c(PyObject* descriptor) {
  return Py_TYPE(descriptor) == &PyGetSetDescr_Type || Py_TYPE(descriptor) == &PyMemberDescr_Type;
}

}  // namespace

// Its metaclass is a class statement's, so that it may be given others, or change. That it is of
// this one is guarded.
bool Tracer::has_own_metaclass(PyObject* type) {
  PyTypeObject* meta = Py_TYPE(type);
  if (!PyType_Check(type) || !is_python_class(meta)) return false;
  guards_.type(type_source(reinterpret_cast<PyTypeObject*>(type)), meta);
  return true;
}

bool Tracer::load_natively(PyObject* owner, PyObject* name, Owned& value) {
  ++native_depth_;
  value = Owned::steal(PyObject_GetAttr(owner, name));
  --native_depth_;
  return static_cast<bool>(value);
}

bool Tracer::load_type_attribute(PyObject* owner, PyObject* name, Owned& value) {
  static PyObject* const finder_name = interned("__getattribute__");
  PyTypeObject* meta = Py_TYPE(owner);
  const bool own_meta = has_own_metaclass(owner);
  PyObject* finder = own_meta ? class_attribute(meta, finder_name) : nullptr;
  const bool finds_as_type = own_meta ? finder == _PyType_Lookup(&PyType_Type, finder_name)
                                      : meta->tp_getattro == PyType_Type.tp_getattro;
  if (!finds_as_type) {
    value = Owned::steal(PyObject_GetAttr(owner, name));  // its own frames
    return static_cast<bool>(value);
  }
  if (load_as_type(owner, name, own_meta, value)) return true;
  if (stopping_ || !own_meta || !PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
  return missing_attribute(owner, name, value);
}

// type.__getattribute__: a data descriptor of the metaclass, what the class and its bases have,
// anything else of the metaclass.
bool Tracer::load_as_type(PyObject* owner, PyObject* name, bool own_meta, Owned& value) {
  auto* type = reinterpret_cast<PyTypeObject*>(owner);
  PyTypeObject* meta = Py_TYPE(owner);
  SourceId meta_source;
  const Owned of_meta = Owned::copy(own_meta ? class_attribute(meta, name, &meta_source)
                                             : _PyType_Lookup(meta, name));
  if (of_meta && is_data_descriptor(of_meta.get())) {
    if (equals(name, "__dict__") && is_python_class(type)) {
      stop("break.attribute", "the __dict__ of a class");
      return false;
    }
    if (equals(name, "__annotations__") && is_python_class(type) &&
        PyDict_GetItemWithError(type_dict(type), name) != nullptr) {
      SourceId source;
      PyObject* annotations = class_attribute(type, name, &source);
      return load_from_class(annotations, source, owner, name, value);
    }
    if (!own_meta || is_computed_by_c(of_meta.get())) return load_natively(owner, name, value);
    return load_from_metaclass(of_meta.get(), meta_source, owner, name, value);
  }
  if (!is_python_class(type) && !own_meta) return load_natively(owner, name, value);
  SourceId source;
  const Owned found = Owned::copy(class_attribute(type, name, &source));
  if (found) return load_from_class(found.get(), source, owner, name, value);
  if (of_meta && own_meta)
    return load_from_metaclass(of_meta.get(), meta_source, owner, name, value);
  if (!own_meta) {
    value = Owned::steal(PyObject_GetAttr(owner, name));
    return static_cast<bool>(value);
  }
  PyErr_Format(PyExc_AttributeError, "type object '%.50s' has no attribute '%U'", type->tp_name,
               name);
  return false;
}

bool Tracer::load_from_class(PyObject* found, SourceId source, PyObject* owner, PyObject* name,
                             Owned& value) {
  PyTypeObject* descriptor = Py_TYPE(found);
  if (descriptor == &PyStaticMethod_Type || descriptor == &PyClassMethod_Type) {
    Owned self;
    return load_from_descriptor(found, source, owner, name, false, value, self);
  }
  value = descriptor->tp_descr_get == nullptr
              ? read(found, source)
              : Owned::steal(descriptor->tp_descr_get(found, nullptr, owner));
  return static_cast<bool>(value);
}

bool Tracer::load_from_metaclass(PyObject* found, SourceId source, PyObject* owner, PyObject* name,
                                 Owned& value) {
  if (found == known_.enum_members) {  // a view of the map, which is read in its place
    static PyObject* const map_name = interned("_member_map_");
    const Owned map = get_attribute(owner, map_name);
    const Owned local = map ? localized(map.get()) : Owned();
    if (local) value = Owned::steal(PyDictProxy_New(local.get()));
    return static_cast<bool>(value);
  }
  if (Py_TYPE(found) == &PyClassMethod_Type) {
    const Owned function = Owned::steal(PyObject_GetAttrString(found, "__func__"));
    if (!function) return false;
    remember(function.get(), result_.sources.step(SourceKind::kWrappedFunction, source));
    value = Owned::steal(PyMethod_New(function.get(), reinterpret_cast<PyObject*>(Py_TYPE(owner))));
    return static_cast<bool>(value);
  }
  Owned self;
  return load_from_descriptor(found, source, owner, name, false, value, self);
}

// What Enum itself says of a member is the member's own.
bool Tracer::load_enum_member(PyObject* owner, PyObject* name, bool method, Owned& value,
                              Owned& self) {
  if (!is_external(owner)) remember(owner, result_.sources.constant(owner));
  const bool is_value = equals(name, "value");
  if (is_value || equals(name, "name")) {
    static PyObject* const value_name = interned("_value_");
    static PyObject* const name_name = interned("_name_");
    SourceId source;
    PyObject* descriptor = class_attribute(Py_TYPE(owner), name, &source);
    if (descriptor == (is_value ? known_.enum_value : known_.enum_name)) {
      guards_.is(source, descriptor);
      return load_object_attribute(owner, is_value ? value_name : name_name, method, value, self);
    }
  }
  return load_object_attribute(owner, name, method, value, self);
}

// A member is looked up by its value. Where there is none, the program's own code may make one up.
Owned Tracer::call_enum(PyObject* type, const Arguments& arguments) {
  static PyObject* const call_name = interned("__call__");
  static PyObject* const map_name = interned("_value2member_map_");
  static PyObject* const missing_name = interned("_missing_");
  auto* const owner = reinterpret_cast<PyTypeObject*>(type);
  if (class_attribute(Py_TYPE(type), call_name) != _PyType_Lookup(known_.enum_type, call_name))
    return Owned::steal(PyObject_Vectorcall(type, arguments.values,
                                            static_cast<std::size_t>(arguments.count),
                                            arguments.names));  // its own frames
  PyObject* map = _PyType_Lookup(owner, map_name);
  const bool is_known = arguments.total() == 1 && map != nullptr && PyDict_Check(map) &&
                        kind(arguments.values[0]) <= Kind::kSingleton &&
                        PyDict_GetItemWithError(map, arguments.values[0]) != nullptr;
  PyErr_Clear();
  PyObject* missing = is_known ? nullptr : class_attribute(owner, missing_name);
  const Owned function = Owned::steal(missing != nullptr && Py_TYPE(missing) == &PyClassMethod_Type
                                          ? PyObject_GetAttrString(missing, "__func__")
                                          : nullptr);
  const bool of_program =
      function && Py_TYPE(function.get()) == &PyFunction_Type && !is_of_library(function.get());
  if (!of_program) return call_natively(type, arguments);
  return Owned::steal(PyObject_Vectorcall(
      type, arguments.values, static_cast<std::size_t>(arguments.count), arguments.names));
}

// What a class, an enum member, an object of `typing` or an op says to a subscript.
Owned Tracer::item_of_singleton(PyObject* container, PyObject* key) {
  static PyObject* const item_name = interned("__getitem__");
  static PyObject* const class_item_name = interned("__class_getitem__");
  const bool own_meta = has_own_metaclass(container);
  if (is_enum_member(container) ||
      (own_meta && class_attribute(Py_TYPE(container), item_name) != nullptr))
    return Owned::steal(PyObject_GetItem(container, key));  // its own frames
  if (PyType_Check(container)) {
    PyObject* found = class_attribute(reinterpret_cast<PyTypeObject*>(container), class_item_name);
    const Owned function = Owned::steal(found != nullptr && Py_TYPE(found) == &PyClassMethod_Type
                                            ? PyObject_GetAttrString(found, "__func__")
                                            : nullptr);
    PyErr_Clear();
    if (function && Py_TYPE(function.get()) == &PyFunction_Type && !is_of_library(function.get())) {
      const Owned bound = get_attribute(container, class_item_name);
      return bound ? call_one(bound.get(), key) : Owned();
    }
  }
  ++native_depth_;
  Owned result = Owned::steal(PyObject_GetItem(container, key));
  --native_depth_;
  return result;
}

}  // namespace triptych::capture
