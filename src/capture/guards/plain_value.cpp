#include "capture/guards/plain_value.h"

#include <cstring>

namespace triptych::capture {
namespace {

// Immutable types of torch's are known by name: this file is built without torch. Their comparison
// and repr are C functions.
bool is_torch_type(const PyTypeObject* type, const char* name) {
  return !PyType_HasFeature(const_cast<PyTypeObject*>(type), Py_TPFLAGS_HEAPTYPE) &&
         std::strcmp(type->tp_name, name) == 0;
}

bool is_size(PyObject* object) {
  return PyTuple_Check(object) && is_torch_type(Py_TYPE(object), "torch.Size");
}

bool is_torch_value(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  return is_torch_type(type, "torch.device") || is_torch_type(type, "torch.dtype") ||
         is_torch_type(type, "torch.layout") || is_torch_type(type, "torch.memory_format") ||
         is_torch_type(type, "torch.finfo") || is_torch_type(type, "torch.iinfo");
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool compared_equal(PyObject* a, PyObject* b) {
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

bool items_equal(PyObject* a, PyObject* b) {
  const Py_ssize_t size = PyTuple_GET_SIZE(a);
  if (size != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t k = 0; k < size; ++k) {
    if (!plain_equal(PyTuple_GET_ITEM(a, k), PyTuple_GET_ITEM(b, k))) return false;
  }
  return true;
}

// Equal ranges may have other ends: range(0) and range(3, 3).
bool ranges_equal(PyObject* a, PyObject* b) {
  for (const char* end : {"start", "stop", "step"}) {
    const Owned left = Owned::steal(PyObject_GetAttrString(a, end));
    const Owned right = Owned::steal(PyObject_GetAttrString(b, end));
    if (!left || !right || !compared_equal(left.get(), right.get())) return false;
  }
  return true;
}

bool slices_equal(PyObject* a, PyObject* b) {
  const auto* left = reinterpret_cast<PySliceObject*>(a);
  const auto* right = reinterpret_cast<PySliceObject*>(b);
  return plain_equal(left->start, right->start) && plain_equal(left->stop, right->stop) &&
         plain_equal(left->step, right->step);
}

bool all_plain(PyObject* iterable) {
  const Owned iterator = Owned::steal(PyObject_GetIter(iterable));
  if (!iterator) {
    PyErr_Clear();
    return false;
  }
  while (const Owned item = Owned::steal(PyIter_Next(iterator.get()))) {
    if (!is_plain_value(item.get())) return false;
  }
  return true;
}

// Sets hold what is equal by `==`: that 1 and True differ is looked at by taking both apart.
bool frozensets_equal(PyObject* a, PyObject* b) {
  if (!all_plain(a) || !all_plain(b) || !compared_equal(a, b)) return false;
  const Owned iterator = Owned::steal(PyObject_GetIter(a));
  while (const Owned item = Owned::steal(iterator ? PyIter_Next(iterator.get()) : nullptr)) {
    const Owned others = Owned::steal(PyObject_GetIter(b));
    bool found = false;
    while (const Owned other = Owned::steal(others ? PyIter_Next(others.get()) : nullptr)) {
      found = found || plain_equal(item.get(), other.get());
    }
    if (!found) return false;
  }
  PyErr_Clear();
  return true;
}

std::string named(PyObject* object) {
  for (const char* attribute : {"__qualname__", "__name__"}) {
    const bool has_name = PyType_Check(object) || PyFunction_Check(object) ||
                          PyCFunction_Check(object) || PyModule_Check(object);
    if (!has_name) break;
    const Owned name = Owned::steal(PyObject_GetAttrString(object, attribute));
    if (name && PyUnicode_Check(name.get())) return utf8(name.borrow());
    PyErr_Clear();
  }
  return {};
}

}  // namespace

bool is_plain_value(PyObject* object) {
  if (object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented) return true;
  if (PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
      PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
      PyRange_Check(object)) {
    return true;
  }
  if (PyTuple_CheckExact(object) || is_size(object)) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(object); ++k) {
      if (!is_plain_value(PyTuple_GET_ITEM(object, k))) return false;
    }
    return true;
  }
  if (PySlice_Check(object)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    return is_plain_value(slice->start) && is_plain_value(slice->stop) &&
           is_plain_value(slice->step);
  }
  if (PyFrozenSet_CheckExact(object)) return all_plain(object);
  return is_torch_value(object);
}

bool plain_equal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyComplex_CheckExact(a)) {
    const Py_complex left = PyComplex_AsCComplex(a), right = PyComplex_AsCComplex(b);
    return same_bits(left.real, right.real) && same_bits(left.imag, right.imag);
  }
  if (PyTuple_CheckExact(a) || is_size(a)) return items_equal(a, b);
  if (PySlice_Check(a)) return slices_equal(a, b);
  if (PyRange_Check(a)) return ranges_equal(a, b);
  if (PyFrozenSet_CheckExact(a)) return frozensets_equal(a, b);
  const bool comparable =
      PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a) || is_torch_value(a);
  return comparable && compared_equal(a, b);
}

std::string plain_text(Borrowed object) {
  if (!object) return "nothing";
  constexpr std::size_t kLongest = 80;
  if (is_plain_value(object)) {
    const Owned repr = Owned::steal(PyObject_Repr(object));
    std::string text = repr ? utf8(repr.borrow()) : std::string();
    PyErr_Clear();
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
    return text;
  }
  const std::string name = named(object);
  if (PyType_Check(object)) return name.empty() ? "a type" : name;
  const std::string type = Py_TYPE(object.get())->tp_name;
  return name.empty() ? "an object of type " + type : type + " " + name;
}

std::string utf8(Borrowed text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes != nullptr) return std::string(bytes, static_cast<std::size_t>(size));
  PyErr_Clear();
  return "?";
}

}  // namespace triptych::capture
