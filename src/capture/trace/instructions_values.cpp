// Instructions that work on values: operators, subscripts, jumps, loops, calls.
#include <opcode.h>

#include <tuple>
#include <utility>

#include "capture/trace/handlers.h"

namespace triptych::capture {
namespace {

// As the interpreter's own.
Flow finish_call(Activation& a, Owned result, int operands) {
  PyObject** base = a.operands(operands);
  a.forget(operands);
  for (int k = 0; k < operands; ++k) Py_XDECREF(base[k]);
  if (!result) return Flow::kRaise;
  a.push(std::move(result));
  return a.poll();
}

PyObject* operator_named(const char* name) {
  const Owned module = Owned::steal(PyImport_ImportModule("operator"));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

bool replace_top(Activation& a, int place, Owned value) {
  if (!value) return false;
  const Owned old = Owned::steal(std::exchange(a.slot_from_top(place), value.release()));
  return true;
}

bool has_own_equality(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type->tp_richcompare != PyBaseObject_Type.tp_richcompare;
}

}  // namespace

Flow Tracer::binary_op(Activation& a, const Instruction& i) {
  Owned result = binary(i.arg, a.peek(2), a.peek(1));
  if (!result) return Flow::kRaise;
  a.drop(2);
  a.push(std::move(result));
  return Flow::kNext;
}

Flow Tracer::unary_op(Activation& a, const Instruction& i) {
  PyObject* operand = a.peek();
  if (!is_fake(operand) && !is_symbolic(operand)) {
    if (kind(operand) == Kind::kOpaque && is_external(operand))
      return stop_flow("break.opaque", "an operator on an object of a C type");
    return semantics::run(a, i);
  }
  static PyObject* const negative = operator_named("neg");
  static PyObject* const positive = operator_named("pos");
  static PyObject* const invert = operator_named("invert");
  PyObject* function = i.op == Op::kUnaryNegative   ? negative
                       : i.op == Op::kUnaryPositive ? positive
                                                    : invert;
  Owned result =
      call_torch(CapturedNode::Kind::kFunction, function, function, {&operand, 1, nullptr});
  if (!result) return Flow::kRaise;
  a.drop(1);
  a.push(std::move(result));
  return Flow::kNext;
}

Flow Tracer::unary_not(Activation& a, const Instruction& i) {
  const std::optional<bool> value = truth(a.peek());
  if (!value) return Flow::kRaise;
  a.drop(1);
  a.push(Owned::copy(*value == (i.op == Op::kToBool) ? Py_True : Py_False));
  return Flow::kNext;
}

Flow Tracer::jump_on_truth(Activation& a, const Instruction& i) {
  PyObject* operand = a.peek();
  if (operand != Py_True && operand != Py_False && operand != Py_None) {
    const std::optional<bool> value = truth(operand);
    if (!value) return Flow::kRaise;
    // Asked once: the instruction itself must not ask the object again.
    if (i.op == Op::kPopJumpIfFalse || i.op == Op::kPopJumpIfTrue)
      replace_top(a, 1, Owned::copy(*value ? Py_True : Py_False));
  }
  return semantics::run(a, i);
}

Flow Tracer::compare_op(Activation& a, const Instruction& i) {
  PyObject* left = a.peek(2);
  PyObject* right = a.peek(1);
  if (is_fake(left) || is_fake(right) || is_symbolic(left) || is_symbolic(right)) {
    static PyObject* const functions[] = {operator_named("lt"), operator_named("le"),
                                          operator_named("eq"), operator_named("ne"),
                                          operator_named("gt"), operator_named("ge")};
    PyObject* function = functions[i.arg];
    PyObject* operands[] = {left, right};
    Owned result =
        call_torch(CapturedNode::Kind::kFunction, function, function, {operands, 2, nullptr});
    if (!result) return Flow::kRaise;
    if (i.flags) {
      const std::optional<bool> value = truth(result.get());
      if (!value) return Flow::kRaise;
      result = Owned::copy(*value ? Py_True : Py_False);
    }
    a.drop(2);
    a.push(std::move(result));
    return Flow::kNext;
  }
  const Kind left_kind = kind(left), right_kind = kind(right);
  if (left_kind <= Kind::kSingleton && right_kind <= Kind::kSingleton) return semantics::run(a, i);
  if (left_kind == Kind::kObject && !has_own_equality(left) &&
      (right_kind != Kind::kObject || !has_own_equality(right))) {
    identical(left, right);
    return semantics::run(a, i);
  }
  if (!replace_top(a, 2, localized_deep(left)) || !replace_top(a, 1, localized_deep(right)))
    return Flow::kRaise;
  return semantics::run(a, i);
}

// Of two numbers that are one value CPython has one object only where they are small.
std::optional<bool> Tracer::is_same_number(PyObject* left, PyObject* right) {
  if (left == right) return true;
  constexpr long kLeast = -5, kMost = 256;
  const bool is_left = is_symbolic(left);
  PyObject* number = is_left ? left : right;
  PyObject* other = is_left ? right : left;
  const bool integers = Py_TYPE(number) == known_.sym_int &&
                        (Py_TYPE(other) == known_.sym_int || PyLong_CheckExact(other));
  if (!integers) return false;
  const std::tuple<int, PyObject*, PyObject*> conditions[] = {
      {Py_GE, number, keep(Owned::steal(PyLong_FromLong(kLeast)))},
      {Py_LE, number, keep(Owned::steal(PyLong_FromLong(kMost)))},
      {Py_EQ, number, other}};
  for (const auto& [comparison, one, two] : conditions) {
    ++native_depth_;
    const int holds = PyObject_RichCompareBool(one, two, comparison);
    --native_depth_;
    if (holds <= 0) return holds < 0 ? std::nullopt : std::optional(false);
  }
  return true;
}

Flow Tracer::is_op(Activation& a, const Instruction& i) {
  if (is_symbolic(a.peek(2)) || is_symbolic(a.peek(1))) {
    const std::optional<bool> same = is_same_number(a.peek(2), a.peek(1));
    if (!same) return Flow::kRaise;
    a.drop(2);
    a.push(Owned::copy(*same != (i.arg != 0) ? Py_True : Py_False));
    return Flow::kNext;
  }
  identical(a.peek(2), a.peek(1));
  return semantics::run(a, i);
}

std::optional<bool> Tracer::contains(PyObject* container, PyObject* item) {
  pin(item);
  const SourceId source = source_of(container);
  const Kind what = kind(container);
  const auto ask = [&](PyObject* in) -> std::optional<bool> {
    const int inside = PySequence_Contains(in, item);
    if (inside < 0) return std::nullopt;
    return inside != 0;
  };
  if (!source || what < Kind::kTuple || what > Kind::kSet) {
    if (what == Kind::kOpaque && source) return localized(container), std::nullopt;
    return ask(container);
  }
  if (what == Kind::kTuple || what == Kind::kList) {
    const Owned local = localized_deep(container);
    return local ? ask(local.get()) : std::nullopt;
  }
  const bool own = (Py_TYPE(container)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  const Owned name = Owned::steal(PyUnicode_InternFromString("__contains__"));
  PyObject* method = own ? class_attribute(Py_TYPE(container), name.get()) : nullptr;
  if (method != nullptr && Py_TYPE(method) == &PyFunction_Type) return ask(container);
  if (!is_plain_key(item)) {
    stop("break.key", std::string("a look-up by a key of type ") + Py_TYPE(item)->tp_name);
    return std::nullopt;
  }
  const int inside =
      what == Kind::kDict ? PyDict_Contains(container, item) : PySet_Contains(container, item);
  if (inside < 0) return std::nullopt;
  const bool seen =
      what == Kind::kDict ? journal_.written(container, item) : journal_.written(container);
  if (seen) return inside != 0;
  if (inside) {
    guards_.has_key(source, item);
  } else {
    guards_.lacks_key(source, item);
  }
  return inside != 0;
}

Flow Tracer::contains_op(Activation& a, const Instruction& i) {
  PyObject* container = a.peek(1);
  const std::optional<bool> inside = contains(container, a.peek(2));
  if (!inside) return Flow::kRaise;
  a.drop(2);
  a.push(Owned::copy(*inside != (i.arg != 0) ? Py_True : Py_False));
  return Flow::kNext;
}

Flow Tracer::binary_subscr(Activation& a, const Instruction& i) {
  PyObject* container = a.peek(2);
  PyObject* key = a.peek(1);
  Owned result;
  if (is_fake(container)) {
    PyObject* operands[] = {container, key};
    result = call_torch(CapturedNode::Kind::kFunction, known_.operator_getitem,
                        known_.operator_getitem, {operands, 2, nullptr});
    if (!result) return Flow::kRaise;
  } else {
    if (is_symbolic(key)) {
      if (!replace_top(a, 1, concrete(key))) return Flow::kRaise;
      key = a.peek(1);
    }
    const Kind what = kind(container);
    const bool external = is_external(container);
    if (!external || what == Kind::kObject || what == Kind::kSingleton) {
      if (what != Kind::kSingleton) return semantics::run(a, i);
      result = item_of_singleton(container, key);
      if (!result) return Flow::kRaise;
      a.drop(2);
      a.push(std::move(result));
      return Flow::kNext;
    }
    // The type's slot says nothing: every subclass has one that asks for the method.
    const bool of_class = (Py_TYPE(container)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    if (of_class && has_own_method(container, "__getitem__")) return semantics::run(a, i);
    if (what == Kind::kDict) {
      if (!look_up(container, key, result)) return Flow::kRaise;
      if (!result) result = missing_item(container, key);
      if (!result && PyErr_Occurred()) return Flow::kRaise;
      if (!result) return semantics::run(a, i);  // raises
    } else if ((what == Kind::kList || what == Kind::kTuple) && PyIndex_Check(key)) {
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(container);
      Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
      if (index == -1 && PyErr_Occurred()) return Flow::kRaise;
      const bool in_journal = journal_.written(container);
      if (index < 0 || index >= size) {
        if (!in_journal) guards_.length(source_of(container), size);
        if (index < 0) index += size;
        if (index < 0 || index >= size) return semantics::run(a, i);  // raises
      }
      result = what == Kind::kList ? read_list_item(container, index)
                                   : read_tuple_item(container, index);
      if (!result) return Flow::kRaise;
    } else {
      if (!replace_top(a, 2, localized(container))) return Flow::kRaise;
      return semantics::run(a, i);
    }
  }
  a.drop(2);
  a.push(std::move(result));
  return Flow::kNext;
}

// Of a dict from outside that lacks the key. Null without an exception: there is no such thing.
Owned Tracer::missing_item(PyObject* dict, PyObject* key) {
  static PyObject* const name = PyUnicode_InternFromString("__missing__");
  PyTypeObject* type = Py_TYPE(dict);
  if (type == &PyDict_Type || type == &PyODict_Type) return {};
  PyObject* method = class_attribute(type, name);
  if (method == nullptr) return {};
  if (Py_TYPE(method) == &PyFunction_Type) {
    PyObject* arguments[] = {dict, key};
    return call(method, {arguments, 2, nullptr});
  }
  if (!PyType_IsSubtype(type, known_.defaultdict))
    return stop("break.key", "a key that a subclass of dict lacks");
  static PyObject* const factory_name = PyUnicode_InternFromString("default_factory");
  PyObject* slot = _PyType_Lookup(known_.defaultdict, factory_name);
  const SourceId place = result_.sources.keyed(SourceKind::kMemberSlot, source_of(dict), slot);
  const Owned found = Owned::steal(PyObject_GetAttr(dict, factory_name));
  const Owned factory = found && place ? read(found.get(), place) : Owned();
  if (!factory) return {};
  if (factory.get() == Py_None) {
    PyErr_SetObject(PyExc_KeyError, key);
    return {};
  }
  Owned made = call(factory.get(), {});
  if (!made || !before_dict_write(dict, key) || PyObject_SetItem(dict, key, made.get()) < 0)
    return {};
  return made;
}

// Its items are set or deleted as those of a dict or list: no class of Python takes that over.
bool Tracer::has_method_of(PyObject* container, const char* text, PyTypeObject* type) {
  if (Py_TYPE(container) == type) return true;
  if (!PyType_IsSubtype(Py_TYPE(container), type)) return false;
  const Owned name = Owned::steal(PyUnicode_InternFromString(text));
  return class_attribute(Py_TYPE(container), name.get()) == _PyType_Lookup(type, name.get());
}

bool Tracer::writes_as_dict(PyObject* container, const char* method) {
  return has_method_of(container, method, &PyDict_Type) ||
         has_method_of(container, method, &PyODict_Type);
}

// A method written in Python, whose frames are interpreted.
bool Tracer::has_own_method(PyObject* object, const char* text) {
  const Owned name = Owned::steal(PyUnicode_InternFromString(text));
  PyObject* method = class_attribute(Py_TYPE(object), name.get());
  return method != nullptr && Py_TYPE(method) == &PyFunction_Type;
}

Flow Tracer::store_subscr(Activation& a, const Instruction& i) {
  PyObject* key = a.peek(1);
  PyObject* container = a.peek(2);
  PyObject* value = a.peek(3);
  if (is_fake(container)) {
    static PyObject* const function = operator_named("setitem");
    PyObject* operands[] = {container, key, value};
    if (!call_torch(CapturedNode::Kind::kFunction, function, function, {operands, 3, nullptr}))
      return Flow::kRaise;
    a.drop(3);
    return Flow::kNext;
  }
  if (is_external(container)) {
    if (writes_as_dict(container, "__setitem__")) {
      if (!before_dict_write(container, key)) return Flow::kRaise;
    } else if (has_method_of(container, "__setitem__", &PyList_Type)) {
      if (!before_write(container)) return Flow::kRaise;
      if (PySlice_Check(key) && !replace_top(a, 3, localized(value))) return Flow::kRaise;
    } else if (!has_own_method(container, "__setitem__")) {
      return stop_flow("break.store", std::string("an item of an object of type ") +
                                          Py_TYPE(container)->tp_name + " is set");
    }
  }
  return semantics::run(a, i);
}

Flow Tracer::delete_subscr(Activation& a, const Instruction& i) {
  PyObject* key = a.peek(1);
  PyObject* container = a.peek(2);
  if (is_external(container)) {
    if (writes_as_dict(container, "__delitem__")) {
      Owned found;
      if (!look_up(container, key, found) || !before_dict_write(container, key, true))
        return Flow::kRaise;
    } else if (has_method_of(container, "__delitem__", &PyList_Type)) {
      if (!before_write(container)) return Flow::kRaise;
    } else if (!has_own_method(container, "__delitem__")) {
      return stop_flow("break.store", std::string("an item of an object of type ") +
                                          Py_TYPE(container)->tp_name + " is deleted");
    }
  }
  return semantics::run(a, i);
}

// container[start:stop], got or set: 3.12 makes the slice as part of the instruction.
Flow Tracer::slice_op(Activation& a, const Instruction& i) {
  Owned slice = Owned::steal(PySlice_New(a.peek(2), a.peek(1), nullptr));
  if (!slice) return Flow::kRaise;
  a.drop(2);
  a.push(std::move(slice));
  Instruction subscript = i;
  subscript.op = i.op == Op::kBinarySlice ? Op::kBinarySubscr : Op::kStoreSubscr;
  return i.op == Op::kBinarySlice ? binary_subscr(a, subscript) : store_subscr(a, subscript);
}

// A tensor is taken apart along its first dimension, where the program iterates over it.
Owned Tracer::unbind(PyObject* tensor) {
  const Owned name = Owned::steal(PyUnicode_InternFromString("unbind"));
  PyObject* method = _PyType_Lookup(known_.tensor, name.get());
  return call_torch(CapturedNode::Kind::kMethod, method, name.get(), {&tensor, 1, nullptr});
}

Flow Tracer::local_top(Activation& a, const Instruction& i) {
  if (is_fake(a.peek())) {
    if (!replace_top(a, 1, unbind(a.peek()))) return Flow::kRaise;
    return semantics::run(a, i);
  }
  if (i.op == Op::kGetLen && has_own_answer(a.peek(), {"__len__"})) {
    return stopping_ ? Flow::kRaise : semantics::run(a, i);
  }
  if (!replace_top(a, 1, localized(a.peek()))) return Flow::kRaise;
  return semantics::run(a, i);
}

// A display or comprehension under way. Its container lies below what is added; behind a graph
// break it is one from outside.
Flow Tracer::grow(Activation& a, const Instruction& i) {
  PyObject* container = a.peek(i.arg + (i.op == Op::kMapAdd ? 2 : 1));
  if (is_external(container)) {
    if (!before_write(container)) return Flow::kRaise;
    if (PyDict_Check(container) && !before_whole_write(container)) return Flow::kRaise;
  }
  const bool adds_one = i.op == Op::kListAppend || i.op == Op::kSetAdd || i.op == Op::kMapAdd;
  return adds_one ? semantics::run(a, i) : local_top(a, i);
}

Flow Tracer::format(Activation& a, const Instruction& i) {
  constexpr int kHasSpec = 4;
  const bool with_spec =
      i.op == Op::kFormatWithSpec || (i.op == Op::kFormatValue && (i.arg & kHasSpec) != 0);
  const int place = with_spec ? 2 : 1;
  PyObject* value = a.peek(place);
  if (is_symbolic(value)) {
    if (!replace_top(a, place, concrete(value))) return Flow::kRaise;
  } else if (kind(value) > Kind::kSingleton && !replace_top(a, place, localized_deep(value)))
    return Flow::kRaise;
  return semantics::run(a, i);
}

Flow Tracer::get_iter(Activation& a, const Instruction& i) {
  PyObject* object = a.peek();
  if (is_fake(object)) {
    if (!replace_top(a, 1, unbind(object))) return Flow::kRaise;
    return semantics::run(a, i);
  }
  // A generator from outside is its own iterator: it is the loop that cannot be followed.
  if (PyGen_CheckExact(object) || has_own_iterator(object)) return semantics::run(a, i);
  if (!replace_top(a, 1, localized(object))) return Flow::kRaise;
  return semantics::run(a, i);
}

Flow Tracer::for_iter(Activation& a, const Instruction& i) {
  PyObject* iterator = a.peek();
  if (is_external(iterator) && kind(iterator) == Kind::kOpaque)
    return stop_flow("break.opaque", std::string("a loop over an iterator of type ") +
                                         Py_TYPE(iterator)->tp_name + " from outside");
  return semantics::run(a, i);
}

Flow Tracer::unpack(Activation& a, const Instruction& i) {
  PyObject* object = a.peek();
  if (is_fake(object)) {
    const Flow flow = get_iter(a, i.op == Op::kGetIter ? i : Instruction{Op::kGetIter});
    if (flow != Flow::kNext) return flow;
    return semantics::run(a, i);
  }
  if (!replace_top(a, 1, localized(object))) return Flow::kRaise;
  return semantics::run(a, i);
}

// `super()` looks at the frame's first variable, which no instruction has read.
bool Tracer::read_self(Activation& a) {
  if (!any_pending_ || a.frame().get() != root_) return true;
  if (!take_pending(a, 0)) return false;
  PyObject* cell = a.local(0);
  if (cell == nullptr || !PyCell_Check(cell) || PyCell_GET(cell) == nullptr) return true;
  const SourceId source = source_of(cell);
  if (!source || journal_.written(cell)) return true;
  const SourceId contents = result_.sources.step(SourceKind::kCellContents, source);
  return static_cast<bool>(read(PyCell_GET(cell), contents));
}

Flow Tracer::call_op(Activation& a, const Instruction& i) {
  const CallSite site = call_site(a, i);
  const bool is_super = site.callable == reinterpret_cast<PyObject*>(&PySuper_Type);
  if (is_super && site.positional == 0 && !read_self(a)) return Flow::kRaise;
  Owned result = call(site.callable, {site.arguments, site.positional, site.keyword_names});
  return finish_call(a, std::move(result), site.operands);
}

Flow Tracer::call_function_ex(Activation& a, const Instruction& i) {
  const int with_keywords = i.arg & 1;
  const int place = 1 + with_keywords;
  PyObject* callable = a.peek(place + (PY_VERSION_HEX >= 0x030d0000 ? 2 : 1));
  if (is_fake(a.peek(place)))
    return stop_flow("break.call", "a tensor is unpacked into the arguments of a call");
  if (!replace_top(a, place, localized(a.peek(place)))) return Flow::kRaise;
  if (!PyTuple_CheckExact(a.peek(place).get())) {
    if (Py_TYPE(a.peek(place).get())->tp_iter == nullptr && !PySequence_Check(a.peek(place)))
      return semantics::run(a, i);  // raises
    if (!replace_top(a, place, Owned::steal(PySequence_Tuple(a.peek(place))))) return Flow::kRaise;
  }
  PyObject* given = a.peek(place);
  std::vector<PyObject*> values(&PyTuple_GET_ITEM(given, 0),
                                &PyTuple_GET_ITEM(given, 0) + PyTuple_GET_SIZE(given));
  const auto count = static_cast<Py_ssize_t>(values.size());
  Owned names;
  if (with_keywords) {
    if (!replace_top(a, 1, localized(a.peek()))) return Flow::kRaise;
    PyObject* keywords = a.peek();
    if (!PyDict_Check(keywords)) return semantics::run(a, i);
    names = Owned::steal(PySequence_Tuple(keywords));
    if (!names) return Flow::kRaise;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names.get()); ++k)
      values.push_back(PyDict_GetItemWithError(keywords, PyTuple_GET_ITEM(names.get(), k)));
    if (PyTuple_GET_SIZE(names.get()) == 0) names = Owned();
  }
  Owned result = call(callable, {values.data(), count, names.get()});
  return finish_call(a, std::move(result), place + 2);
}

// The methods are found here, so that what they are is guarded; they run as any call does.
Flow Tracer::before_with(Activation& a, const Instruction& i) {
  PyObject* manager = a.peek();
  if (kind(manager) != Kind::kObject && !(Py_TYPE(manager)->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return stop_flow("break.with", std::string("a with statement on an object of type ") +
                                       Py_TYPE(manager)->tp_name);
  for (const char* text : {"__enter__", "__exit__"}) {
    const Owned name = Owned::steal(PyUnicode_InternFromString(text));
    PyObject* method = class_attribute(Py_TYPE(manager), name.get());
    if (method != nullptr && Py_TYPE(method) != &PyFunction_Type)
      return stop_flow("break.with", std::string("a with statement on an object of C type ") +
                                         Py_TYPE(manager)->tp_name);
  }
  return semantics::run(a, i);
}

}  // namespace triptych::capture
