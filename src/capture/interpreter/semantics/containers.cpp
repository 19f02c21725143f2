// Building, filling and unpacking containers; text formatting.
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {
namespace {

bool iterable(Borrowed object) {
  return Py_TYPE(object.get())->tp_iter != nullptr || PySequence_Check(object);
}

}  // namespace

Flow build_tuple(Activation& a, const Instruction& i) {
  PyObject* tuple = PyTuple_New(i.arg);
  if (tuple == nullptr) return Flow::kRaise;
  PyObject** items = a.operands(i.arg);
  for (int k = 0; k < i.arg; ++k) PyTuple_SET_ITEM(tuple, k, items[k]);
  a.forget(i.arg);
  return a.push_result(tuple);
}

Flow build_list(Activation& a, const Instruction& i) {
  PyObject* list = PyList_New(i.arg);
  if (list == nullptr) return Flow::kRaise;
  PyObject** items = a.operands(i.arg);
  for (int k = 0; k < i.arg; ++k) PyList_SET_ITEM(list, k, items[k]);
  a.forget(i.arg);
  return a.push_result(list);
}

Flow build_set(Activation& a, const Instruction& i) {
  Owned set = Owned::steal(PySet_New(nullptr));
  if (!set) return Flow::kRaise;
  PyObject** items = a.operands(i.arg);
  for (int k = 0; k < i.arg; ++k) {
    if (PySet_Add(set.get(), items[k]) < 0) return Flow::kRaise;
  }
  a.drop(i.arg);
  a.push(std::move(set));
  return Flow::kNext;
}

Flow build_map(Activation& a, const Instruction& i) {
  Owned map = Owned::steal(PyDict_New());
  if (!map) return Flow::kRaise;
  PyObject** items = a.operands(2 * i.arg);
  for (int k = 0; k < i.arg; ++k) {
    if (PyDict_SetItem(map.get(), items[2 * k], items[2 * k + 1]) < 0) return Flow::kRaise;
  }
  a.drop(2 * i.arg);
  a.push(std::move(map));
  return Flow::kNext;
}

Flow build_const_key_map(Activation& a, const Instruction& i) {
  const Owned keys = a.pop();
  Owned map = Owned::steal(PyDict_New());
  if (!map) return Flow::kRaise;
  if (!PyTuple_CheckExact(keys.get()) || PyTuple_GET_SIZE(keys.get()) != i.arg) {
    PyErr_SetString(PyExc_SystemError, "bad BUILD_CONST_KEY_MAP keys argument");
    return Flow::kRaise;
  }
  PyObject** values = a.operands(i.arg);
  for (int k = 0; k < i.arg; ++k) {
    if (PyDict_SetItem(map.get(), PyTuple_GET_ITEM(keys.get(), k), values[k]) < 0)
      return Flow::kRaise;
  }
  a.drop(i.arg);
  a.push(std::move(map));
  return Flow::kNext;
}

Flow build_string(Activation& a, const Instruction& i) {
  const Owned empty = Owned::steal(PyUnicode_FromStringAndSize(nullptr, 0));
  if (!empty) return Flow::kRaise;
  PyObject* text = _PyUnicode_JoinArray(empty.get(), a.operands(i.arg), i.arg);
  if (text == nullptr) return Flow::kRaise;
  a.drop(i.arg);
  return a.push_result(text);
}

Flow list_append(Activation& a, const Instruction& i) {
  const Owned item = a.pop();
  return PyList_Append(a.peek(i.arg), item.get()) < 0 ? Flow::kRaise : Flow::kNext;
}

Flow set_add(Activation& a, const Instruction& i) {
  const Owned item = a.pop();
  return PySet_Add(a.peek(i.arg), item.get()) < 0 ? Flow::kRaise : Flow::kNext;
}

Flow map_add(Activation& a, const Instruction& i) {
  const Owned value = a.pop();
  const Owned key = a.pop();
  const int failed = PyDict_SetItem(a.peek(i.arg), key.get(), value.get());
  return failed < 0 ? Flow::kRaise : Flow::kNext;
}

Flow list_extend(Activation& a, const Instruction& i) {
  const Owned items = a.pop();
  auto* list = reinterpret_cast<PyListObject*>(a.peek(i.arg).get());
  const Owned none = Owned::steal(_PyList_Extend(list, items.get()));
  if (none) return Flow::kNext;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) || iterable(items.borrow())) return Flow::kRaise;
  PyErr_Clear();
  return raise_type_error("Value after * must be an iterable, not %.200s", items.borrow());
}

Flow list_to_tuple(Activation& a, const Instruction&) {
  return a.push_result(PyList_AsTuple(a.pop().get()));
}

Flow set_update(Activation& a, const Instruction& i) {
  const Owned items = a.pop();
  return _PySet_Update(a.peek(i.arg), items.get()) < 0 ? Flow::kRaise : Flow::kNext;
}

Flow dict_update(Activation& a, const Instruction& i) {
  const Owned items = a.pop();
  if (PyDict_Update(a.peek(i.arg), items.get()) == 0) return Flow::kNext;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return Flow::kRaise;
  return raise_type_error("'%.200s' object is not a mapping", items.borrow());
}

namespace {

// `expected` counts what has a name; a starred name takes any number.
bool too_few(int expected, Py_ssize_t got, bool starred) {
  PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %s%d, got %zd)",
               starred ? "at least " : "", expected, got);
  return false;
}

// Fills items[0..before) and, with a star, a list of the rest and the last `after` items behind it.
bool unpack(Borrowed source, int before, int after, std::vector<Owned>& items) {
  const bool starred = after >= 0;
  const Owned iterator = Owned::steal(PyObject_GetIter(source));
  if (!iterator) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) && !iterable(source)) {
      raise_type_error("cannot unpack non-iterable %.200s object", source);
    }
    return false;
  }
  for (int k = 0; k < before; ++k) {
    items.push_back(Owned::steal(PyIter_Next(iterator.get())));
    if (items.back()) continue;
    return PyErr_Occurred() ? false : too_few(starred ? before + after : before, k, starred);
  }
  if (!starred) {
    const Owned extra = Owned::steal(PyIter_Next(iterator.get()));
    if (!extra) return !PyErr_Occurred();
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", before);
    return false;
  }
  Owned rest = Owned::steal(PySequence_List(iterator.get()));
  if (!rest) return false;
  const Py_ssize_t length = PyList_GET_SIZE(rest.get());
  if (length < after) return too_few(before + after, before + length, true);
  std::vector<Owned> last;
  for (Py_ssize_t k = length - after; k < length; ++k) {
    last.push_back(Owned::copy(PyList_GET_ITEM(rest.get(), k)));
  }
  if (PyList_SetSlice(rest.get(), length - after, length, nullptr) < 0) return false;
  items.push_back(std::move(rest));
  for (Owned& item : last) items.push_back(std::move(item));
  return true;
}

Flow push_unpacked(Activation& a, int before, int after) {
  const Owned source = a.pop();
  std::vector<Owned> items;
  if (!unpack(source.borrow(), before, after, items)) return Flow::kRaise;
  for (auto item = items.rbegin(); item != items.rend(); ++item) a.push(std::move(*item));
  return Flow::kNext;
}

}  // namespace

Flow unpack_sequence(Activation& a, const Instruction& i) {
  const Borrowed source = a.peek();
  const bool is_tuple = PyTuple_CheckExact(source.get());
  if (!is_tuple && !PyList_CheckExact(source.get())) return push_unpacked(a, i.arg, -1);
  if (PySequence_Fast_GET_SIZE(source.get()) != i.arg) return push_unpacked(a, i.arg, -1);
  const Owned sequence = a.pop();
  PyObject** items = PySequence_Fast_ITEMS(sequence.get());
  for (int k = i.arg - 1; k >= 0; --k) a.push(Owned::copy(items[k]));
  return Flow::kNext;
}

Flow unpack_ex(Activation& a, const Instruction& i) {
  return push_unpacked(a, i.arg & 0xff, i.arg >> 8);
}

namespace {

// str(), repr() and ascii() by their numbers in the instruction.
Owned converted(Owned value, int conversion) {
  switch (conversion) {
    case 1:
      return Owned::steal(PyObject_Str(value.get()));
    case 2:
      return Owned::steal(PyObject_Repr(value.get()));
    case 3:
      return Owned::steal(PyObject_ASCII(value.get()));
    default:
      return value;
  }
}

Flow push_formatted(Activation& a, Owned value, Borrowed spec) {
  if (!value) return Flow::kRaise;
  if (PyUnicode_CheckExact(value.get()) && !spec) {
    a.push(std::move(value));
    return Flow::kNext;
  }
  return a.push_result(PyObject_Format(value.get(), spec));
}

}  // namespace

Flow format_value(Activation& a, const Instruction& i) {
  constexpr int kConversion = 3, kHasSpec = 4;
  const Owned spec = i.arg & kHasSpec ? a.pop() : Owned();
  return push_formatted(a, converted(a.pop(), i.arg & kConversion), spec.borrow());
}

Flow convert_value(Activation& a, const Instruction& i) {
  return a.push_result(converted(a.pop(), i.arg).release());
}

Flow format_simple(Activation& a, const Instruction&) { return push_formatted(a, a.pop(), {}); }

Flow format_with_spec(Activation& a, const Instruction&) {
  const Owned spec = a.pop();
  return push_formatted(a, a.pop(), spec.borrow());
}

Flow print_expr(Activation& a, const Instruction&) {
  const Owned value = a.pop();
  const Owned hook = Owned::copy(PySys_GetObject("displayhook"));
  if (!hook) {
    PyErr_SetString(PyExc_RuntimeError, "lost sys.displayhook");
    return Flow::kRaise;
  }
  Owned result = Owned::steal(PyObject_CallOneArg(hook.get(), value.get()));
  if (!result) return Flow::kRaise;
#if PY_VERSION_HEX >= 0x030c0000
  a.push(std::move(result));  // an intrinsic has a result
#endif
  return Flow::kNext;
}

}  // namespace triptych::capture::semantics
