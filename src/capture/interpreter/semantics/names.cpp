// Names that are looked up in dictionaries: of a module, of a class body, builtins.
#include "capture/interpreter/cpython.h"
#include "capture/interpreter/errors.h"
#include "capture/interpreter/semantics.h"

namespace triptych::capture::semantics {
namespace {

// A dictionary subclass as module globals: until 3.12 its __getitem__ was not asked by LOAD_NAME
// and its kind.
bool look_up_in_globals(Activation& a, Borrowed name, Owned& found) {
#if PY_VERSION_HEX < 0x030d0000
  found = Owned::copy(PyDict_GetItemWithError(a.frame().globals(), name));
  return found || !PyErr_Occurred();
#else
  return look_up(a.frame().globals(), name, found);
#endif
}

Flow push_global(Activation& a, Borrowed name) {
  Owned value;
  if (!look_up_in_globals(a, name, value)) return Flow::kRaise;
  if (!value && !look_up(a.frame().builtins(), name, value)) return Flow::kRaise;
  if (!value) return raise_name_error(name);
  a.push(std::move(value));
  return Flow::kNext;
}

Flow no_locals(const char* format, Borrowed name) {
  PyErr_Format(PyExc_SystemError, format, name.get());
  return Flow::kRaise;
}

int set_item(Borrowed mapping, Borrowed key, Borrowed value) {
  return PyDict_CheckExact(mapping.get()) ? PyDict_SetItem(mapping, key, value)
                                          : PyObject_SetItem(mapping, key, value);
}

Flow push_cell_value(Activation& a, int slot) {
  Owned value = Owned::copy(PyCell_GET(a.local(slot).get()));
  if (!value) return raise_unbound(a, slot);
  a.push(std::move(value));
  return Flow::kNext;
}

Flow load_from_mapping_or_cell(Activation& a, Borrowed mapping, int slot) {
  Owned value;
  const Borrowed name = PyTuple_GET_ITEM(a.code()->co_localsplusnames, slot);
  if (!look_up(mapping, name, value)) return Flow::kRaise;
  if (!value) return push_cell_value(a, slot);
  a.push(std::move(value));
  return Flow::kNext;
}

}  // namespace

Flow load_name(Activation& a, const Instruction& i) {
  const Borrowed name = a.name(i.arg);
  const Borrowed locals = a.frame().locals_mapping();
  if (!locals) return no_locals("no locals when loading %R", name);
  Owned value;
  if (!look_up(locals, name, value)) return Flow::kRaise;
  if (!value) return push_global(a, name);
  a.push(std::move(value));
  return Flow::kNext;
}

Flow store_name(Activation& a, const Instruction& i) {
  const Borrowed name = a.name(i.arg);
  const Borrowed locals = a.frame().locals_mapping();
  const Owned value = a.pop();
  if (!locals) return no_locals("no locals found when storing %R", name);
  return set_item(locals, name, value.borrow()) < 0 ? Flow::kRaise : Flow::kNext;
}

Flow delete_name(Activation& a, const Instruction& i) {
  const Borrowed name = a.name(i.arg);
  const Borrowed locals = a.frame().locals_mapping();
  if (!locals) return no_locals("no locals when deleting %R", name);
  return PyObject_DelItem(locals, name) < 0 ? raise_name_error(name) : Flow::kNext;
}

Flow load_global(Activation& a, const Instruction& i) {
  const Borrowed name = a.name(i.arg);
  Owned value;
  if (!look_up(a.frame().globals(), name, value)) return Flow::kRaise;
  if (!value && !look_up(a.frame().builtins(), name, value)) return Flow::kRaise;
  if (!value) return raise_name_error(name);
  // The place for `self` of the call that follows.
  if (i.flags && PY_VERSION_HEX < 0x030d0000) a.push({});
  a.push(std::move(value));
  if (i.flags && PY_VERSION_HEX >= 0x030d0000) a.push({});
  return Flow::kNext;
}

Flow store_global(Activation& a, const Instruction& i) {
  const Owned value = a.pop();
  const int failed = PyDict_SetItem(a.frame().globals(), a.name(i.arg), value.get());
  return failed < 0 ? Flow::kRaise : Flow::kNext;
}

Flow delete_global(Activation& a, const Instruction& i) {
  const Borrowed name = a.name(i.arg);
  if (PyDict_DelItem(a.frame().globals(), name) == 0) return Flow::kNext;
  return PyErr_ExceptionMatches(PyExc_KeyError) ? raise_name_error(name) : Flow::kRaise;
}

Flow load_classderef(Activation& a, const Instruction& i) {
  return load_from_mapping_or_cell(a, a.frame().locals_mapping(), i.arg);
}

Flow load_locals(Activation& a, const Instruction&) {
  const Borrowed locals = a.frame().locals_mapping();
  if (!locals) {
    PyErr_SetString(PyExc_SystemError, "no locals");
    return Flow::kRaise;
  }
  a.push(Owned::copy(locals));
  return Flow::kNext;
}

Flow load_from_dict_or_globals(Activation& a, const Instruction& i) {
  const Owned mapping = a.pop();
  Owned value;
  if (!look_up(mapping.borrow(), a.name(i.arg), value)) return Flow::kRaise;
  if (!value) return push_global(a, a.name(i.arg));
  a.push(std::move(value));
  return Flow::kNext;
}

Flow load_from_dict_or_deref(Activation& a, const Instruction& i) {
  const Owned mapping = a.pop();
  return load_from_mapping_or_cell(a, mapping.borrow(), i.arg);
}

Flow load_build_class(Activation& a, const Instruction&) {
  const Owned name = Owned::steal(PyUnicode_InternFromString("__build_class__"));
  Owned value;
  if (!name || !look_up(a.frame().builtins(), name.borrow(), value)) return Flow::kRaise;
  if (!value) {
    PyErr_SetString(PyExc_NameError, "__build_class__ not found");
    return Flow::kRaise;
  }
  a.push(std::move(value));
  return Flow::kNext;
}

Flow load_assertion_error(Activation& a, const Instruction&) {
  a.push(Owned::copy(PyExc_AssertionError));
  return Flow::kNext;
}

Flow setup_annotations(Activation& a, const Instruction&) {
  const Borrowed locals = a.frame().locals_mapping();
  if (!locals) {
    PyErr_SetString(PyExc_SystemError, "no locals found when setting up annotations");
    return Flow::kRaise;
  }
  const Owned name = Owned::steal(PyUnicode_InternFromString("__annotations__"));
  Owned known;
  if (!name || !look_up(locals, name.borrow(), known)) return Flow::kRaise;
  if (known) return Flow::kNext;
  const Owned fresh = Owned::steal(PyDict_New());
  if (!fresh) return Flow::kRaise;
  return set_item(locals, name.borrow(), fresh.borrow()) < 0 ? Flow::kRaise : Flow::kNext;
}

}  // namespace triptych::capture::semantics
