// Methods of dicts: of one from outside each key is read and written by itself.
#include "capture/trace/builtin_rules.h"

namespace triptych::capture::rules {
namespace {

Owned plain(Function function, Args all) {
  const Py_ssize_t bound = function.self == nullptr ? 0 : 1;
  return Owned::steal(PyObject_Vectorcall(function.callable, all.values + bound,
                                          static_cast<std::size_t>(all.count - bound), all.names));
}

bool fits(Tracer& tracer, Args arguments, Py_ssize_t least, Py_ssize_t most) {
  return arguments.names == nullptr && arguments.count >= least && arguments.count <= most &&
         PyDict_Check(arguments.values[0]) && tracer.is_external(arguments.values[0]);
}

Owned none() { return Owned::copy(Py_None); }

}  // namespace

Owned contains(Tracer& tracer, Rule rule, Function function, Args arguments) {
  if (arguments.count != 2 || !tracer.is_external(arguments.values[0]))
    return plain(function, arguments);
  static_cast<void>(rule);
  const std::optional<bool> inside = tracer.contains(arguments.values[0], arguments.values[1]);
  return inside ? Owned::copy(*inside ? Py_True : Py_False) : Owned();
}

Owned dict_write(Tracer& tracer, Rule rule, Function function, Args arguments) {
  PyObject* target = arguments.count > 0 ? arguments.values[0] : nullptr;
  if (target == nullptr || !PyDict_Check(target)) return plain(function, arguments);
  if (tracer.is_external(target) && !tracer.before_whole_write(target)) return {};
  return mutates(tracer, rule, function, arguments);
}

Owned dict_get(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!fits(tracer, arguments, 2, 3)) return plain(function, arguments);
  Owned found;
  if (!tracer.look_up(arguments.values[0], arguments.values[1], found)) return {};
  if (found) return found;
  return arguments.count == 3 ? Owned::copy(arguments.values[2]) : none();
}

Owned dict_item(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!fits(tracer, arguments, 2, 2)) return plain(function, arguments);
  Owned found;
  if (!tracer.look_up(arguments.values[0], arguments.values[1], found)) return {};
  return found ? std::move(found) : plain(function, arguments);
}

Owned dict_set(Tracer& tracer, Rule, Function function, Args arguments) {
  if (fits(tracer, arguments, 3, 3) &&
      !tracer.before_dict_write(arguments.values[0], arguments.values[1]))
    return {};
  return plain(function, arguments);
}

Owned dict_delete(Tracer& tracer, Rule, Function function, Args arguments) {
  if (fits(tracer, arguments, 2, 2)) {
    Owned found;
    if (!tracer.look_up(arguments.values[0], arguments.values[1], found) ||
        !tracer.before_dict_write(arguments.values[0], arguments.values[1], true))
      return {};
  }
  return plain(function, arguments);
}

Owned dict_pop(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!fits(tracer, arguments, 2, 3)) return plain(function, arguments);
  Owned found;
  if (!tracer.look_up(arguments.values[0], arguments.values[1], found) ||
      !tracer.before_dict_write(arguments.values[0], arguments.values[1], true))
    return {};
  Owned popped = plain(function, arguments);
  return popped && found ? std::move(found) : std::move(popped);
}

Owned dict_set_default(Tracer& tracer, Rule, Function function, Args arguments) {
  if (!fits(tracer, arguments, 2, 3)) return plain(function, arguments);
  Owned found;
  if (!tracer.look_up(arguments.values[0], arguments.values[1], found)) return {};
  if (found) return found;
  if (!tracer.before_dict_write(arguments.values[0], arguments.values[1])) return {};
  return plain(function, arguments);
}

Owned dict_update(Tracer& tracer, Rule rule, Function function, Args arguments) {
  if (arguments.count < 1 || !tracer.is_external(arguments.values[0]))
    return pure(tracer, rule, function, arguments);
  PyObject* target = arguments.values[0];
  const Owned given = Owned::steal(PyDict_New());
  if (!given) return {};
  if (arguments.count > 1) {
    const Owned local = tracer.localized(arguments.values[1]);
    if (!local) return {};
    const Owned update = Owned::steal(PyObject_GetAttrString(given.get(), "update"));
    if (!Owned::steal(PyObject_CallOneArg(update.get(), local.get()))) return {};
  }
  for (Py_ssize_t k = 0; k < arguments.keywords(); ++k) {
    if (PyDict_SetItem(given.get(), PyTuple_GET_ITEM(arguments.names, k),
                       arguments.values[arguments.count + k]) < 0)
      return {};
  }
  PyObject *key, *value;
  Py_ssize_t place = 0;
  while (PyDict_Next(given.get(), &place, &key, &value)) {
    if (!tracer.before_dict_write(target, key) || PyDict_SetItem(target, key, value) < 0) return {};
  }
  return none();
}

}  // namespace triptych::capture::rules
