#include "capture/trace/builtin_rules.h"

#include <opcode.h>

#include <string_view>
#include <utility>

namespace triptych::capture::rules {
namespace {

Owned vectorcall(PyObject* callable, Args arguments) {
  return Owned::steal(PyObject_Vectorcall(
      callable, arguments.values, static_cast<std::size_t>(arguments.count), arguments.names));
}

Owned boolean(bool value) { return Owned::copy(value ? Py_True : Py_False); }
Owned none() { return Owned::copy(Py_None); }

bool takes(Args arguments, Py_ssize_t least, Py_ssize_t most) {
  return arguments.names == nullptr && arguments.count >= least && arguments.count <= most;
}

std::string name_of(PyObject* callable) {
  const Owned name = Owned::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : Py_TYPE(callable)->tp_name;
}

// Arguments as call wants them: without what the callable is bound to itself.
Args unbound(Function function, Args all, Arguments& storage) {
  if (function.self == nullptr) return all;
  storage = {all.values + 1, all.count - 1, all.names};
  return storage;
}

// The same function on replaced arguments; `self` may have been replaced too.
Owned call_on(Function function, std::vector<PyObject*>& values, Args shape) {
  if (function.self == nullptr)
    return vectorcall(function.callable, {values.data(), shape.count, shape.names});
  const Arguments rest{values.data() + 1, shape.count - 1, shape.names};
  if (values[0] == function.self) return vectorcall(function.callable, rest);
  const Owned name = Owned::steal(PyObject_GetAttrString(function.callable, "__name__"));
  const Owned bound = name ? Owned::steal(PyObject_GetAttr(values[0], name.get())) : Owned();
  return bound ? vectorcall(bound.get(), rest) : Owned();
}

template <class Replace>
Owned call_replaced(Function function, Args arguments, Replace replace) {
  std::vector<Owned> held;
  std::vector<PyObject*> values;
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    held.push_back(replace(arguments.values[k]));
    if (!held.back()) return {};
    values.push_back(held.back().get());
  }
  return call_on(function, values, arguments);
}

// C code calls it out of sight, unless it is Python code, or a type or function that only computes.
bool is_seen(Tracer& tracer, PyObject* callable) {
  PyTypeObject* type = Py_TYPE(callable);
  if (callable == Py_None || type == &PyFunction_Type) {
    return type != &PyFunction_Type ||
           function_rule(tracer.known(), callable).kind == FunctionRule::Kind::kInterpret;
  }
  if (type == &PyMethod_Type) return is_seen(tracer, PyMethod_GET_FUNCTION(callable));
  if (PyType_Check(callable) || type == &PyCFunction_Type || type == &PyMethodDescr_Type) {
    const CFunction c = c_function_of(callable);
    const BuiltinRule* rule = builtin_rule(tracer.known(), c);
    if (rule == nullptr) return false;
    const bool of_fresh_container = c.self != nullptr && tracer.kind(c.self) >= Kind::kTuple &&
                                    tracer.kind(c.self) <= Kind::kSet &&
                                    !tracer.is_external(c.self);
    return rule->run == pure || rule->run == pure_deep || of_fresh_container;
  }
  return false;
}

bool check_callable(Tracer& tracer, PyObject* callable) {
  if (is_seen(tracer, callable)) return true;
  tracer.stop("break.call", "C code calls " + name_of(callable));
  return false;
}

bool check_key_function(Tracer& tracer, Args arguments) {
  for (Py_ssize_t k = 0; k < arguments.keywords(); ++k) {
    PyObject* name = PyTuple_GET_ITEM(arguments.names, k);
    if (PyUnicode_CompareWithASCIIString(name, "key") == 0 &&
        !check_callable(tracer, arguments.values[arguments.count + k]))
      return false;
  }
  return true;
}

bool has_key_function(Args arguments) {
  for (Py_ssize_t k = 0; k < arguments.keywords(); ++k) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.names, k), "key") == 0)
      return arguments.values[arguments.count + k] != Py_None;
  }
  return false;
}

bool holds_tensor(Tracer& tracer, PyObject* object) {
  if (tracer.is_fake(object)) return true;
  if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k) {
    if (holds_tensor(tracer, PySequence_Fast_GET_ITEM(object, k))) return true;
  }
  return false;
}

// What is in containers decides their order: it is read, and they stay what they are. False: the
// trace has stopped.
bool read_order(Tracer& tracer, PyObject* const* items, Py_ssize_t count) {
  for (Py_ssize_t k = 0; k < count; ++k) {
    const Kind kind = tracer.kind(items[k]);
    if (kind < Kind::kTuple || kind > Kind::kSet) continue;
    const Owned deep = tracer.localized_deep(items[k]);
    if (!deep) return false;
    if (holds_tensor(tracer, deep.get())) {
      tracer.stop("break.call", "an order of containers that hold tensors");
      return false;
    }
  }
  return true;
}

// map() of a function that C code may not call out of sight: all its calls are made now.
Owned map_at_once(Tracer& tracer, Args arguments) {
  std::vector<Owned> held;
  std::vector<PyObject*> iterables;
  for (Py_ssize_t k = 1; k < arguments.count; ++k) {
    PyObject* given = arguments.values[k];
    held.push_back(tracer.is_fake(given) ? tracer.unbind(given) : tracer.localized(given));
    if (!held.back()) return {};
    iterables.push_back(held.back().get());
  }
  const Owned zipped = Owned::steal(PyObject_Vectorcall(
      reinterpret_cast<PyObject*>(&PyZip_Type), iterables.data(), iterables.size(), nullptr));
  const Owned rows = zipped ? Owned::steal(PySequence_List(zipped.get())) : Owned();
  const Owned results = rows ? Owned::steal(PyList_New(0)) : Owned();
  if (!results) return {};
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(rows.get()); ++k) {
    PyObject* row = PyList_GET_ITEM(rows.get(), k);
    const Owned value = tracer.call(arguments.values[0],
                                    {&PyTuple_GET_ITEM(row, 0), PyTuple_GET_SIZE(row), nullptr});
    if (!value || PyList_Append(results.get(), value.get()) < 0) return {};
  }
  return Owned::steal(PyObject_GetIter(results.get()));
}

}  // namespace

Owned pure(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!check_key_function(tracer, arguments)) return {};
  return call_replaced(function, arguments, [&](PyObject* value) {
    return tracer.is_symbolic(value) ? tracer.concrete(value) : tracer.localized(value);
  });
}

Owned pure_deep(Tracer& tracer, Rule, Function function, Args arguments) {
  return call_replaced(function, arguments, [&](PyObject* value) {
    if (tracer.kind(value) == Kind::kObject && tracer.is_external(value)) {
      return tracer.stop("break.call", name_of(function.callable) + " of an object of type " +
                                           Py_TYPE(value)->tp_name);
    }
    return tracer.is_symbolic(value) ? tracer.concrete(value) : tracer.localized_deep(value);
  });
}

Owned hold(Tracer&, Rule, Function function, Args arguments) {
  Arguments storage;
  return vectorcall(function.callable, unbound(function, arguments, storage));
}

Owned hold_own(Tracer& tracer, Rule rule, Function function, Args arguments) {
  if (arguments.count > 0 && tracer.is_external(arguments.values[0]))
    return tracer.stop("break.store", name_of(function.callable) + " of an object of type " +
                                          Py_TYPE(arguments.values[0])->tp_name + " from outside");
  return hold(tracer, rule, function, arguments);
}

Owned of_fresh(Tracer& tracer, Rule, Function function, Args arguments) {
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    PyObject* value = arguments.values[k];
    if (tracer.is_external(value) && tracer.kind(value) != Kind::kSingleton) {
      return tracer.stop("break.call", name_of(function.callable) + " on an object of type " +
                                           Py_TYPE(value)->tp_name + " from outside");
    }
  }
  Arguments storage;
  return vectorcall(function.callable, unbound(function, arguments, storage));
}

Owned mutates_fresh(Tracer& tracer, Rule, Function function, Args arguments) {
  if (arguments.count > 0 && tracer.is_external(arguments.values[0]))
    return tracer.stop("break.store", name_of(function.callable) + " on an object from outside");
  return call_replaced(function, arguments, [&](PyObject* value) {
    return value == arguments.values[0] ? Owned::copy(value) : tracer.localized(value);
  });
}

Owned mutates(Tracer& tracer, Rule, Function function, Args arguments) {
  if (arguments.count == 0) return vectorcall(function.callable, arguments);
  if (!check_key_function(tracer, arguments)) return {};
  PyObject* target = arguments.values[0];
  if (!tracer.before_write(target)) return {};
  // What is put in stays what it is; what is iterated is looked at.
  const std::string name = name_of(function.callable);
  if (name == "list.sort" && PyList_Check(target) && !has_key_function(arguments)) {
    const Owned items = Owned::steal(PySequence_List(target));
    if (!items ||
        !read_order(tracer, &PyList_GET_ITEM(items.get(), 0), PyList_GET_SIZE(items.get())))
      return {};
  }
  const bool puts_in = name.ends_with(".append") || name.ends_with(".insert") ||
                       name.ends_with(".add") || name.ends_with(".__setitem__") ||
                       name.ends_with(".setdefault") || name.ends_with(".pop") ||
                       name.starts_with("heap") || name.starts_with("insort");
  return call_replaced(function, arguments, [&](PyObject* value) {
    return puts_in || value == target ? Owned::copy(value) : tracer.localized(value);
  });
}

Owned operate(Tracer& tracer, Rule rule, Function function, Args arguments) {
  PyTypeObject* type = Py_TYPE(function.callable);
  if (type != &PyCFunction_Type) return pure(tracer, rule, function, arguments);
  for (Py_ssize_t k = 0; k < arguments.count; ++k) {
    if (tracer.is_fake(arguments.values[k]) || tracer.is_symbolic(arguments.values[k]))
      return tracer.call_torch(CapturedNode::Kind::kFunction, function.callable, function.callable,
                               arguments);
  }
  if (arguments.count > 0 && tracer.is_external(arguments.values[0])) {
    const std::string name = name_of(function.callable);
    if (name == "setitem" || name == "delitem" ||
        (name.starts_with("i") && name != "index" && name != "is_" && name != "is_not" &&
         name != "invert" && name != "inv" && name != "indexOf"))
      return tracer.stop("break.store", name + " on an object from outside");
  }
  return pure(tracer, rule, function, arguments);
}

Owned len(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 1, 1)) return vectorcall(function.callable, arguments);
  PyObject* object = arguments.values[0];
  const Kind kind = tracer.kind(object);
  if (kind >= Kind::kTuple && kind <= Kind::kSet) {
    if (!tracer.has_own_answer(object, {"__len__"})) tracer.read_length(object);
    if (tracer.stopped()) return {};
  } else if (kind == Kind::kOpaque && tracer.is_external(object)) {
    return tracer.localized(object);
  }
  return vectorcall(function.callable, arguments);
}

// max(), min() and sorted() give what they were given, not copies of it.
Owned order(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!check_key_function(tracer, arguments)) return {};
  const bool has_key = has_key_function(arguments);
  std::vector<Owned> held;
  std::vector<PyObject*> values;
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    PyObject* const value = arguments.values[k];
    Owned given = tracer.concrete(value);
    if (given && arguments.count == 1 && k == 0) given = tracer.localized(given.get());
    if (given && arguments.count == 1 && k == 0 && !has_key && !tracer.is_fake(value)) {
      const Owned items = Owned::steal(PySequence_List(given.get()));
      if (!items ||
          !read_order(tracer, &PyList_GET_ITEM(items.get(), 0), PyList_GET_SIZE(items.get())))
        return {};
      given = Owned::copy(items.get());
    }
    if (!given) return {};
    values.push_back(given.get());
    held.push_back(std::move(given));
  }
  if (arguments.count > 1 && !has_key && !read_order(tracer, values.data(), arguments.count))
    return {};
  return call_on(function, values, arguments);
}

// filter(None, ...) asks what `if` asks.
Owned filter(Tracer& tracer, Rule rule, Function function, Args arguments) {
  const bool asks_items = takes(arguments, 2, 2) && arguments.values[0] == Py_None &&
                          tracer.kind(arguments.values[1]) >= Kind::kTuple &&
                          tracer.kind(arguments.values[1]) <= Kind::kSet;
  if (!asks_items) return pure(tracer, rule, function, arguments);
  const Owned local = tracer.localized(arguments.values[1]);
  const Owned items = local ? Owned::steal(PyObject_GetIter(local.get())) : Owned();
  const Owned kept = items ? Owned::steal(PyList_New(0)) : Owned();
  if (!kept) return {};
  while (const Owned item = Owned::steal(PyIter_Next(items.get()))) {
    const std::optional<bool> truth = tracer.truth(item.get());
    if (!truth || (*truth && PyList_Append(kept.get(), item.get()) < 0)) return {};
  }
  return PyErr_Occurred() ? Owned() : Owned::steal(PyObject_GetIter(kept.get()));
}

// any() and all(): each item is asked as `if` asks it, up to the one that decides.
static Owned ask_items(Tracer& tracer, Function function, Args arguments, bool decides) {
  if (!takes(arguments, 1, 1)) return vectorcall(function.callable, arguments);
  PyObject* const given = arguments.values[0];
  const Owned local = tracer.is_fake(given) ? tracer.unbind(given) : tracer.localized(given);
  const Owned items = local ? Owned::steal(PyObject_GetIter(local.get())) : Owned();
  if (!items) return {};
  while (const Owned item = Owned::steal(PyIter_Next(items.get()))) {
    const std::optional<bool> truth = tracer.truth(item.get());
    if (!truth) return {};
    if (*truth == decides) return boolean(decides);
  }
  return PyErr_Occurred() ? Owned() : boolean(!decides);
}

Owned any(Tracer& tracer, Rule, Function function, Args arguments) {
  return ask_items(tracer, function, arguments, true);
}

Owned all(Tracer& tracer, Rule, Function function, Args arguments) {
  return ask_items(tracer, function, arguments, false);
}

// What sum() adds up in C, as accurately as its version of CPython does.
static bool is_plain_number(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
         PyBool_Check(object);
}

// An item is added before the next one is asked for: a generator may write to what it has yielded.
Owned sum(Tracer& tracer, Rule, Function function, Args arguments) {
  PyObject* const start = arguments.total() == 2 ? arguments.values[1] : nullptr;
  const bool named = arguments.keywords() > 0;
  if (arguments.count < 1 || arguments.total() > 2 || (start && PyUnicode_Check(start)) ||
      (named &&
       PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.names, 0), "start") != 0))
    return vectorcall(function.callable, arguments);  // raises
  PyObject* const given = arguments.values[0];
  const Owned local = tracer.is_fake(given) ? tracer.unbind(given) : tracer.localized(given);
  const Owned items = local ? Owned::steal(PyObject_GetIter(local.get())) : Owned();
  const Owned numbers = items ? Owned::steal(PyList_New(0)) : Owned();
  if (!numbers) return {};
  const auto sum_of_numbers = [&] {
    PyObject* values[] = {numbers.get(), start};
    return vectorcall(function.callable, {values, start ? 2 : 1, nullptr});
  };
  bool only_numbers = start == nullptr || is_plain_number(start);
  Owned total = only_numbers ? Owned() : Owned::copy(start);
  while (const Owned item = Owned::steal(PyIter_Next(items.get()))) {
    if (only_numbers && is_plain_number(item.get())) {
      if (PyList_Append(numbers.get(), item.get()) < 0) return {};
      continue;
    }
    if (only_numbers) total = sum_of_numbers();
    only_numbers = false;
    if (total) total = tracer.binary(NB_ADD, total.get(), item.get());
    if (!total) return {};
  }
  if (PyErr_Occurred()) return {};
  return only_numbers ? sum_of_numbers() : std::move(total);
}

Owned map(Tracer& tracer, Rule rule, Function function, Args arguments) {
  if (arguments.count < 2 || arguments.names != nullptr || is_seen(tracer, arguments.values[0]))
    return pure(tracer, rule, function, arguments);
  return map_at_once(tracer, arguments);
}

Owned reduce(Tracer& tracer, Rule rule, Function function, Args arguments) {
  if (arguments.count > 0 && !check_callable(tracer, arguments.values[0])) return {};
  return pure(tracer, rule, function, arguments);
}

// A number that is another in each process: only good for comparing, as `is` does.
Owned identity(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 1, 1)) return vectorcall(function.callable, arguments);
  PyObject* object = arguments.values[0];
  if (tracer.is_fake(object)) return tracer.stop("break.call", "id of a tensor");
  Owned number = vectorcall(function.callable, arguments);
  if (number) tracer.note_identity(object, number.get());
  return number;
}

// The instance dict, as `__dict__` is.
Owned variables(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 1, 1)) return tracer.stop("break.call", "vars() of the frame");
  static_cast<void>(function);
  const Owned name = Owned::steal(PyUnicode_InternFromString("__dict__"));
  return tracer.get_attribute(arguments.values[0], name.get());
}

// object.__reduce_ex__ of a plain object: its class and its own attributes, as they are.
Owned reduce_object(Tracer& tracer, Rule rule, Function function, Args arguments) {
  PyObject* object = arguments.count > 0 ? arguments.values[0] : nullptr;
  if (object == nullptr || !tracer.is_external(object))
    return of_fresh(tracer, rule, function, arguments);
  PyTypeObject* type = Py_TYPE(object);
  bool plain = tracer.kind(object) == Kind::kObject && arguments.count == 2;
  for (const char* text :
       {"__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__", "__slots__"}) {
    const Owned name = Owned::steal(PyUnicode_InternFromString(text));
    PyObject* found = tracer.class_attribute(type, name.get());
    plain = plain && found == _PyType_Lookup(&PyBaseObject_Type, name.get());
  }
  Owned state = plain ? tracer.instance_dict(object) : Owned();
  if (!state) {
    return tracer.stop("break.call", std::string("a copy of an object of class ") + type->tp_name);
  }
  const Owned module = Owned::steal(PyImport_ImportModule("copyreg"));
  const Owned make = Owned::steal(PyObject_GetAttrString(module.get(), "__newobj__"));
  if (!make) return {};
  tracer.remember(make.get(), tracer.result().sources.constant(make.get()));
  return Owned::steal(Py_BuildValue("(O(O)OOO)", make.get(), type, state.get(), Py_None, Py_None));
}

Owned hash(Tracer& tracer, Rule rule, Function function, Args arguments) {
  if (!takes(arguments, 1, 1)) return vectorcall(function.callable, arguments);
  PyObject* object = arguments.values[0];
  if (tracer.is_fake(object)) return tracer.stop("break.call", "hash of a tensor");
  return pure_deep(tracer, rule, function, arguments);
}

Owned to_bool(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 1, 1)) return vectorcall(function.callable, arguments);
  const std::optional<bool> truth = tracer.truth(arguments.values[0]);
  return truth ? boolean(*truth) : Owned();
}

Owned type_of(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 1, 1)) return tracer.stop("break.call", "a class is made");
  PyObject* object = arguments.values[0];
  if (tracer.is_fake(object) && tracer.real_of(object) != nullptr) object = tracer.real_of(object);
  static_cast<void>(function);
  const Owned plain = tracer.is_symbolic(object) ? tracer.plain_example(object) : Owned();
  if (plain) object = plain.get();
  return Owned::copy(reinterpret_cast<PyObject*>(Py_TYPE(object)));
}

Owned is_instance(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  return tracer.is_instance(arguments.values[0], arguments.values[1], false);
}

Owned is_subclass(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  return tracer.is_instance(arguments.values[0], arguments.values[1], true);
}

static bool is_missing(Tracer& tracer) {
  if (tracer.stopped() || !PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
  PyErr_Clear();
  return true;
}

Owned get_attribute(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 3) || !PyUnicode_Check(arguments.values[1]))
    return vectorcall(function.callable, arguments);
  Owned value = tracer.get_attribute(arguments.values[0], arguments.values[1]);
  if (!value && arguments.count == 3 && is_missing(tracer)) return Owned::copy(arguments.values[2]);
  return value;
}

Owned has_attribute(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2) || !PyUnicode_Check(arguments.values[1]))
    return vectorcall(function.callable, arguments);
  const Owned value = tracer.get_attribute(arguments.values[0], arguments.values[1]);
  if (value) return boolean(true);
  return is_missing(tracer) ? boolean(false) : Owned();
}

Owned set_attribute(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 3, 3)) return vectorcall(function.callable, arguments);
  return tracer.store_attribute(arguments.values[0], arguments.values[1], arguments.values[2])
             ? none()
             : Owned();
}

Owned delete_attribute(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  return tracer.store_attribute(arguments.values[0], arguments.values[1], nullptr) ? none()
                                                                                   : Owned();
}

Owned generic_get(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  Owned value, self;
  if (!tracer.load_generic(arguments.values[0], arguments.values[1], false, value, self)) return {};
  return value;
}

Owned generic_set(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 3, 3)) return vectorcall(function.callable, arguments);
  return tracer.store_generic(arguments.values[0], arguments.values[1], arguments.values[2])
             ? none()
             : Owned();
}

Owned generic_delete(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  return tracer.store_generic(arguments.values[0], arguments.values[1], nullptr) ? none() : Owned();
}

// type.__call__(C, ...): what a metaclass hands on.
Owned type_call(Tracer& tracer, Rule, Function function, Args arguments) {
  static_cast<void>(tracer);
  Arguments storage;
  return vectorcall(function.callable, unbound(function, arguments, storage));
}

Owned type_get(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  return tracer.get_attribute(arguments.values[0], arguments.values[1]);
}

Owned type_instance(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  PyObject* object = arguments.values[1];
  if (tracer.is_fake(object) && tracer.real_of(object) != nullptr) object = tracer.real_of(object);
  PyObject* values[] = {arguments.values[0], object};
  Arguments storage;
  return vectorcall(function.callable, unbound(function, {values, 2, nullptr}, storage));
}

// What ABCMeta asks of C: the class comes first.
static Owned abstract_check(Tracer& tracer, Function function, Args arguments, bool subclass) {
  if (!takes(arguments, 2, 2)) return vectorcall(function.callable, arguments);
  const std::optional<bool> answer =
      tracer.check_abstract(arguments.values[1], arguments.values[0], subclass);
  return answer ? boolean(*answer) : Owned();
}

Owned abc_instance(Tracer& tracer, Rule, Function function, Args arguments) {
  return abstract_check(tracer, function, arguments, false);
}

Owned abc_subclass(Tracer& tracer, Rule, Function function, Args arguments) {
  return abstract_check(tracer, function, arguments, true);
}

Owned type_subclass(Tracer&, Rule, Function function, Args arguments) {
  Arguments storage;
  return vectorcall(function.callable, unbound(function, arguments, storage));
}

// C.__new__(class, ...) of a type written in C.
Owned c_new(Tracer& tracer, Rule, Function function, Args arguments) {
  auto* type = reinterpret_cast<PyTypeObject*>(function.self);
  if (type == nullptr || !PyType_Check(function.self))
    return tracer.stop("break.call", "a call of __new__");
  const bool known = type == &PyBaseObject_Type || type == &PyTuple_Type || type == &PyDict_Type ||
                     type == &PyODict_Type || type == &PyList_Type || type == &PySet_Type ||
                     type == &PyFrozenSet_Type || type == &PyLong_Type || type == &PyFloat_Type ||
                     type == &PyUnicode_Type ||
                     PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
  if (!known)
    return tracer.stop("break.call", std::string("a call of ") + type->tp_name + ".__new__");
  if (arguments.count > 0 && PyType_Check(arguments.values[1]) &&
      tracer.refuses_finalizer(reinterpret_cast<PyTypeObject*>(arguments.values[1])))
    return {};
  std::vector<Owned> held;
  std::vector<PyObject*> values;
  for (Py_ssize_t k = 1; k < arguments.total(); ++k) {
    held.push_back(tracer.localized(arguments.values[k]));
    if (!held.back()) return {};
    values.push_back(held.back().get());
  }
  return vectorcall(function.callable, {values.data(), arguments.count - 1, arguments.names});
}

Owned query(Tracer& tracer, Rule, Function function, Args arguments) {
  return tracer.call_natively(function.callable, arguments);
}

Owned set_mode(Tracer& tracer, Rule, Function function, Args arguments) {
  return tracer.call_mode(function.callable, arguments);
}

}  // namespace triptych::capture::rules
