#include "capture/trace/library.h"
#include "capture/guards/type_dict.h"

#include <initializer_list>
#include <string_view>

namespace triptych::capture {
namespace {

// module.name.name; kept for the life of the process.
PyObject* find(const char* module, std::initializer_list<const char*> names) {
  PyObject* object = PyImport_ImportModule(module);
  for (const char* name : names) {
    if (object == nullptr) return nullptr;
    PyObject* next = PyObject_GetAttrString(object, name);
    Py_DECREF(object);
    object = next;
  }
  return object;
}

PyTypeObject* find_type(const char* module, std::initializer_list<const char*> names) {
  return reinterpret_cast<PyTypeObject*>(find(module, names));
}

bool fill(Library& known) {
  known.tensor = find_type("torch", {"Tensor"});
  known.tensor_base = find_type("torch._C", {"TensorBase"});
  known.parameter = find_type("torch.nn", {"Parameter"});
  known.buffer = find_type("torch.nn", {"Buffer"});
  known.size = find_type("torch", {"Size"});
  known.device = find_type("torch", {"device"});
  known.dtype = find_type("torch", {"dtype"});
  known.sym_int = find_type("torch", {"SymInt"});
  known.sym_float = find_type("torch", {"SymFloat"});
  known.sym_bool = find_type("torch", {"SymBool"});
  known.enum_type = find_type("enum", {"EnumMeta"});
  const auto own = [](PyTypeObject* type, const char* name) {
    return type == nullptr ? nullptr : Py_XNewRef(PyDict_GetItemString(type_dict(type), name));
  };
  PyTypeObject* const plain_enum = find_type("enum", {"Enum"});
  known.enum_value = own(plain_enum, "value");
  known.enum_name = own(plain_enum, "name");
  known.enum_members = own(known.enum_type, "__members__");
  known.abc_instance_check = find("abc", {"ABCMeta", "__instancecheck__"});
  known.abc_subclass_check = find("abc", {"ABCMeta", "__subclasscheck__"});
  known.abc_is_instance = find("_abc", {"_abc_instancecheck"});
  known.abc_is_subclass = find("_abc", {"_abc_subclasscheck"});
  known.partial = find_type("functools", {"partial"});
  known.lru_cache = find_type("functools", {"_lru_cache_wrapper"});
  known.defaultdict = find_type("collections", {"defaultdict"});
  known.nn_module = find_type("torch.nn", {"Module"});
  known.nn_module_getattr = find("torch.nn", {"Module", "__getattr__"});
  known.nn_module_call = find("torch.nn", {"Module", "__call__"});
  known.nn_module_call_impl = find("torch.nn", {"Module", "_call_impl"});
  known.nn_module_file = find("torch.nn.modules.module", {});
  known.torch_c = find("torch._C", {});
  known.operator_getitem = find("operator", {"getitem"});
  known.dtypes_of_types = {{{&PyBool_Type, find("torch", {"bool"})},
                            {&PyLong_Type, find("torch", {"int64"})},
                            {&PyFloat_Type, find("torch", {"float64"})},
                            {&PyComplex_Type, find("torch", {"complex128"})}}};
  known.is_inference = find("torch", {"is_inference"});
  known.is_conj = find("torch", {"is_conj"});
  known.is_neg = find("torch", {"is_neg"});
  known.stop = PyErr_NewException("triptych.CaptureStop", PyExc_BaseException, nullptr);
  return PyErr_Occurred() == nullptr;
}

bool is_immutable_value(PyTypeObject* type, const Library& known) {
  return type == Py_TYPE(Py_None) || type == &PyBool_Type || type == &PyLong_Type ||
         type == &PyUnicode_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
         type == &PyComplex_Type || type == Py_TYPE(Py_Ellipsis) || type == &PyRange_Type ||
         type == known.device || type == known.size;
}

bool is_identity_type(PyTypeObject* type, const Library& known) {
  return type == &PyFunction_Type || type == &PyCFunction_Type || type == &PyMethodDescr_Type ||
         type == &PyWrapperDescr_Type || type == &PyGetSetDescr_Type ||
         type == &PyMemberDescr_Type || type == &PyProperty_Type || type == &PyStaticMethod_Type ||
         type == &PyClassMethod_Type || type == &PyClassMethodDescr_Type || type == &PyCode_Type ||
         type == known.dtype || type == known.lru_cache || type == Py_TYPE(Py_NotImplemented);
}

// Registries of types and ops that are never changed once made.
bool is_identity_module(PyTypeObject* type) {
  PyObject* dict = type_dict(type);
  PyObject* module = dict == nullptr ? nullptr : PyDict_GetItemString(dict, "__module__");
  if (module == nullptr || !PyUnicode_Check(module)) return false;
  const char* text = PyUnicode_AsUTF8(module);
  const std::string_view name = text == nullptr ? "" : text;
  return name == "typing" || name == "torch._ops";
}

// Made by a class statement. C code can make types at run time too, which have functions of C.
bool is_class_of_python(const Library& known, const PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_dealloc == known.nn_module->tp_dealloc;
}

}  // namespace

Kind kind_of_type(const Library& known, PyTypeObject* type) {
  if (is_immutable_value(type, known)) return Kind::kLeaf;
  if (is_identity_type(type, known) || PyType_FastSubclass(type, Py_TPFLAGS_TYPE_SUBCLASS) ||
      PyType_IsSubtype(type, &PyModule_Type))
    return Kind::kSingleton;
  const std::string_view name = type->tp_name;
  if (name == "torch.layout" || name == "torch.memory_format" || name == "types.GenericAlias" ||
      name == "types.UnionType")
    return Kind::kSingleton;
  if (type == known.tensor || type == known.parameter || type == known.buffer) return Kind::kTensor;
  if (PyType_IsSubtype(type, known.tensor_base)) return Kind::kSubclass;
  if (PyType_IsSubtype(Py_TYPE(type), known.enum_type)) return Kind::kSingleton;
  if (type == &PyMethod_Type) return Kind::kMethod;
  if (type == known.partial) return Kind::kPartial;
  if (type == &PyCell_Type) return Kind::kCell;
  if (PyType_FastSubclass(type, Py_TPFLAGS_TUPLE_SUBCLASS)) return Kind::kTuple;
  if (PyType_FastSubclass(type, Py_TPFLAGS_LIST_SUBCLASS)) return Kind::kList;
  if (PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS)) return Kind::kDict;
  if (PyType_IsSubtype(type, &PySet_Type) || PyType_IsSubtype(type, &PyFrozenSet_Type))
    return Kind::kSet;
  constexpr unsigned long kValues = Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS |
                                    Py_TPFLAGS_BYTES_SUBCLASS | Py_TPFLAGS_BASE_EXC_SUBCLASS;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return Kind::kOpaque;
  if (is_identity_module(type)) return Kind::kSingleton;
  if (type->tp_flags & kValues) return Kind::kOpaque;
  // Its base of C has content and methods that no attribute shows: a deque, an array, a float.
  const PyTypeObject* base = type;
  while (is_class_of_python(known, base)) base = base->tp_base;
  return base == &PyBaseObject_Type ? Kind::kObject : Kind::kOpaque;
}

const Library* library() {
  static Library known;
  static bool filled = false;  // under the GIL
  if (!filled && !(filled = fill(known))) return nullptr;
  return &known;
}

}  // namespace triptych::capture
