// Attributes, super() and imports.
#include <opcode.h>
#include "capture/interpreter/call_site.h"
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/native_code.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {
namespace {

Owned attribute_or_null(Borrowed object, const char* name) {
  Owned value = Owned::steal(PyObject_GetAttrString(object, name));
  if (!value) cleared(PyExc_AttributeError);
  return value;
}

}  // namespace

Flow load_attr(Activation& a, const Instruction& i) {
  Owned owner = a.pop();
  if (!i.flags) return a.push_result(PyObject_GetAttr(owner.get(), a.name(i.arg)));
  PyObject* found = nullptr;
  const bool takes_self = _PyObject_GetMethod(owner.get(), a.name(i.arg), &found) != 0;
  if (found == nullptr) return Flow::kRaise;
  push_callable(a, Owned::steal(found), takes_self ? std::move(owner) : Owned());
  return Flow::kNext;
}

Flow store_attr(Activation& a, const Instruction& i) {
  const Owned owner = a.pop();
  const Owned value = a.pop();
  const int failed = PyObject_SetAttr(owner.get(), a.name(i.arg), value.get());
  return failed < 0 ? Flow::kRaise : Flow::kNext;
}

Flow delete_attr(Activation& a, const Instruction& i) {
  const Owned owner = a.pop();
  return PyObject_DelAttr(owner.get(), a.name(i.arg)) < 0 ? Flow::kRaise : Flow::kNext;
}

// super().name and super(C, self).name; the first form finds its arguments in the frame, which is
// the current one.
Flow load_super_attr(Activation& a, const Instruction& i) {
  constexpr int kMethod = 1, kTwoArguments = 2;
  const Owned self = a.pop();
  const Owned owner_class = a.pop();
  const Owned super_class = a.pop();
  PyObject* arguments[] = {owner_class.get(), self.get()};
  const std::size_t count = i.flags & kTwoArguments ? 2 : 0;
  const Owned super =
      Owned::steal(PyObject_Vectorcall(super_class.get(), arguments, count, nullptr));
  if (!super) return Flow::kRaise;
  Owned value = Owned::steal(PyObject_GetAttr(super.get(), a.name(i.arg)));
  if (!value) return Flow::kRaise;
  if (i.flags & kMethod) {
    push_callable(a, std::move(value), {});
  } else {
    a.push(std::move(value));
  }
  return Flow::kNext;
}

Flow import_name(Activation& a, const Instruction& i) {
  const Owned from_list = a.pop();
  const Owned level = a.pop();
  const Owned key = Owned::steal(PyUnicode_InternFromString("__import__"));
  Owned import;
  if (!key || !look_up(a.frame().builtins(), key.borrow(), import)) return Flow::kRaise;
  if (!import) {
    PyErr_SetString(PyExc_ImportError, "__import__ not found");
    return Flow::kRaise;
  }
  const Borrowed locals = a.frame().locals_mapping();
  PyObject* arguments[] = {a.name(i.arg), a.frame().globals(), locals ? locals.get() : Py_None,
                           from_list.get(), level.get()};
  return a.push_result(PyObject_Vectorcall(import.get(), arguments, 5, nullptr));
}

namespace {

// A module that says of itself what this one does, and has nothing in it.
Owned empty_copy(Borrowed module) {
  Owned name = attribute_or_null(module, "__name__");
  if (!name && PyErr_Occurred()) return {};
  Owned copy = Owned::steal(PyModule_NewObject(name ? name.get() : Py_None));
  if (!copy) return {};
  if (!name && PyObject_DelAttrString(copy.get(), "__name__") < 0) return {};
  const bool has_file = PyModule_Check(module.get());
  for (const char* attribute : {"__spec__", "__file__"}) {
    if (attribute[2] == 'f' && !has_file) continue;
    const Owned value = attribute_or_null(module, attribute);
    if (!value && PyErr_Occurred()) return {};
    if (value && PyObject_SetAttrString(copy.get(), attribute, value.get()) < 0) return {};
  }
  return copy;
}

}  // namespace

Flow import_from(Activation& a, const Instruction& i) {
  const Borrowed name = a.name(i.arg);
  PyObject* value = PyObject_GetAttr(a.peek(), name);
  if (value == nullptr && cleared(PyExc_AttributeError)) {
    // Circular imports, and an error text that names the reason: CPython's own instruction knows
    // them. It must not ask the module's __getattr__ again.
    const Owned module = empty_copy(a.peek());
    if (!module) return Flow::kRaise;
    const Borrowed operand = module.borrow();
    const Owned both =
        run_native_instruction(IMPORT_FROM, 0, {&operand, 1}, a.frame().globals(), 2, name);
    value = both ? Py_NewRef(PyTuple_GET_ITEM(both.get(), 1)) : nullptr;
  }
  return a.push_result(value);
}

namespace {

Flow bad_star_name(Borrowed module, Borrowed name, bool from_all) {
  const Owned module_name = attribute_or_null(module, "__name__");
  if (!module_name) return Flow::kRaise;
  if (!PyUnicode_Check(module_name.get())) {
    return raise_type_error("module __name__ must be a string, not %.100s", module_name.borrow());
  }
  PyErr_Format(PyExc_TypeError, "%s in %U.%s must be str, not %.100s", from_all ? "Item" : "Key",
               module_name.get(), from_all ? "__all__" : "__dict__", Py_TYPE(name.get())->tp_name);
  return Flow::kRaise;
}

// The names that `from module import *` takes; null with an exception set.
Owned star_names(Borrowed module, bool& from_all) {
  Owned names = attribute_or_null(module, "__all__");
  from_all = static_cast<bool>(names);
  if (names || PyErr_Occurred()) return names;
  const Owned dict = attribute_or_null(module, "__dict__");
  if (!dict) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_ImportError, "from-import-* object has no __dict__ and no __all__");
    }
    return {};
  }
  return Owned::steal(PyMapping_Keys(dict.get()));
}

bool import_star_name(Activation& a, Borrowed module, Borrowed name) {
  const Owned value = Owned::steal(PyObject_GetAttr(module, name));
  if (!value) return false;
  const Borrowed locals = a.frame().locals_mapping();
  return (PyDict_CheckExact(locals.get()) ? PyDict_SetItem(locals, name, value.get())
                                          : PyObject_SetItem(locals, name, value.get())) == 0;
}

}  // namespace

Flow import_star(Activation& a, const Instruction&) {
  const Owned module = a.pop();
  if (!a.frame().locals_mapping()) {
    PyErr_SetString(PyExc_SystemError, "no locals found during 'import *'");
    return Flow::kRaise;
  }
  bool from_all = false;
  const Owned names = star_names(module.borrow(), from_all);
  if (!names) return Flow::kRaise;
  for (Py_ssize_t place = 0;; ++place) {
    const Owned name = Owned::steal(PySequence_GetItem(names.get(), place));
    if (!name) {
      if (!cleared(PyExc_IndexError)) return Flow::kRaise;
      break;
    }
    if (!PyUnicode_Check(name.get()))
      return bad_star_name(module.borrow(), name.borrow(), from_all);
    const bool hidden =
        PyUnicode_GET_LENGTH(name.get()) > 0 && PyUnicode_READ_CHAR(name.get(), 0) == '_';
    if (!from_all && hidden) continue;
    if (!import_star_name(a, module.borrow(), name.borrow())) return Flow::kRaise;
  }
#if PY_VERSION_HEX >= 0x030c0000
  a.push(Owned::copy(Py_None));  // an intrinsic has a result
#endif
  return Flow::kNext;
}

}  // namespace triptych::capture::semantics
