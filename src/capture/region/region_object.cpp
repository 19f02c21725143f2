// The Python object of a region: a callable that also is a method where it is a class' attribute,
// and has attributes of its own (`__name__`, `__wrapped__`, ...).
#include <Python.h>
#include <structmember.h>

#include <cstddef>

#include "capture/region/region.h"

namespace triptych::capture {
namespace {

struct RegionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Region* region;
  PyObject* dict;
  PyObject* weak_references;
};

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flagged,
                     PyObject* keyword_names) {
  Region* const region = reinterpret_cast<RegionObject*>(self)->region;
  // Whoever calls holds the object, but the call may drop it.
  const Owned kept = Owned::copy(self);
  try {
    return region->call(arguments, PyVectorcall_NARGS(flagged), keyword_names);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* get(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* const object = reinterpret_cast<RegionObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object->dict);
  return object->region == nullptr ? 0 : object->region->traverse(visit, arg);
}

int clear(PyObject* self) {
  auto* const object = reinterpret_cast<RegionObject*>(self);
  Py_CLEAR(object->dict);
  if (object->region != nullptr) object->region->reset();
  return 0;
}

void deallocate(PyObject* self) {
  auto* const object = reinterpret_cast<RegionObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->dict);
  delete std::exchange(object->region, nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<compiled %R>",
                              reinterpret_cast<RegionObject*>(self)->region->function());
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RegionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(RegionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(RegionObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(get)},
                       {Py_tp_repr, reinterpret_cast<void*>(represent)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("A captured and compiled function.")},
                       {0, nullptr}};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec spec = {"triptych._C.Region", sizeof(RegionObject), 0, kFlags, slots};

}  // namespace

PyTypeObject* region_type() {
  // Lives as long as the process.
  static auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type;
}

PyObject* make_region_object(std::unique_ptr<Region> region) {
  PyTypeObject* const type = region_type();
  if (type == nullptr) return nullptr;
  auto* const object = reinterpret_cast<RegionObject*>(type->tp_alloc(type, 0));
  if (object == nullptr) return nullptr;
  object->vectorcall = vectorcall;
  object->region = region.release();
  return reinterpret_cast<PyObject*>(object);
}

Region* region_of(PyObject* object) {
  if (Py_TYPE(object) != region_type()) return nullptr;
  return reinterpret_cast<RegionObject*>(object)->region;
}

}  // namespace triptych::capture
