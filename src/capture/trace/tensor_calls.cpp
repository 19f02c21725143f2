// Calls of torch: run natively on fakes, logged as one node each.
#include <opcode.h>
#include <algorithm>

#include <string_view>
#include <unordered_set>
#include <utility>

#include "capture/trace/tracer.h"

namespace triptych::capture {
namespace {

// What a graph may hold as it is.
bool is_literal(const Library& known, PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  if (value == Py_None || type == &PyBool_Type || type == &PyLong_Type || type == &PyFloat_Type ||
      type == &PyUnicode_Type || type == &PyComplex_Type || value == Py_Ellipsis ||
      type == known.dtype || type == known.device)
    return true;
  const std::string_view name = type->tp_name;
  return name == "torch.layout" || name == "torch.memory_format";
}

// Or a number of symbolic sizes.
bool contains_tensor(const Library& known, PyObject* value) {
  if (Py_TYPE(value) == known.tensor || is_symbolic(known, value)) return true;
  if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); ++k) {
      if (contains_tensor(known, PySequence_Fast_GET_ITEM(value, k))) return true;
    }
  } else if (PyDict_Check(value)) {
    PyObject *key, *item;
    Py_ssize_t place = 0;
    while (PyDict_Next(value, &place, &key, &item)) {
      if (contains_tensor(known, item)) return true;
    }
  } else if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    return contains_tensor(known, slice->start) || contains_tensor(known, slice->stop) ||
           contains_tensor(known, slice->step);
  }
  return false;
}

PyObject* operator_named(const char* name) {
  const Owned module = Owned::steal(PyImport_ImportModule("operator"));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

struct OperatorTable {
  PyObject* functions[32] = {};
  OperatorTable() {
    static constexpr std::pair<int, const char*> kNames[] = {
        {NB_ADD, "add"},
        {NB_AND, "and_"},
        {NB_FLOOR_DIVIDE, "floordiv"},
        {NB_LSHIFT, "lshift"},
        {NB_MATRIX_MULTIPLY, "matmul"},
        {NB_MULTIPLY, "mul"},
        {NB_REMAINDER, "mod"},
        {NB_OR, "or_"},
        {NB_POWER, "pow"},
        {NB_RSHIFT, "rshift"},
        {NB_SUBTRACT, "sub"},
        {NB_TRUE_DIVIDE, "truediv"},
        {NB_XOR, "xor"},
        {NB_INPLACE_ADD, "iadd"},
        {NB_INPLACE_AND, "iand"},
        {NB_INPLACE_FLOOR_DIVIDE, "ifloordiv"},
        {NB_INPLACE_LSHIFT, "ilshift"},
        {NB_INPLACE_MATRIX_MULTIPLY, "imatmul"},
        {NB_INPLACE_MULTIPLY, "imul"},
        {NB_INPLACE_REMAINDER, "imod"},
        {NB_INPLACE_OR, "ior"},
        {NB_INPLACE_POWER, "ipow"},
        {NB_INPLACE_RSHIFT, "irshift"},
        {NB_INPLACE_SUBTRACT, "isub"},
        {NB_INPLACE_TRUE_DIVIDE, "itruediv"},
        {NB_INPLACE_XOR, "ixor"},
    };
    for (const auto& [number, name] : kNames) functions[number] = operator_named(name);
  }
};

bool is_inplace(int operation) { return operation >= NB_INPLACE_ADD; }

// The exception that is set says that a kernel reached for memory which a fake has not.
bool wants_data() {
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return false;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Owned text = Owned::steal(value == nullptr ? nullptr : PyObject_Str(value));
  const char* words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string_view message = words == nullptr ? "" : words;
  bool found = false;
  for (const char* part : {"a tensor has no data while its program is traced",
                           "its data is not allocated yet", "unallocated storage"})
    found = found || message.find(part) != std::string_view::npos;
  PyErr_Restore(type, value, traceback);
  return found;
}

}  // namespace

bool Tracer::to_argument(PyObject* value, NodeArgument& argument) {
  if (is_fake(value) || is_symbolic(value)) {
    std::optional<NodeArgument> found = recorder_.argument(value);
    if (!found) {
      stop("break.unseen_op", "a tensor that no logged call has made");
      return false;
    }
    argument = std::move(*found);
    return true;
  }
  argument.object = Owned::copy(value);
  const auto add = [&](PyObject* item) { return to_argument(item, argument.items.emplace_back()); };
  if (is_literal(known_, value)) return true;
  for (const auto& [type, dtype] : known_.dtypes_of_types) {
    if (value != reinterpret_cast<PyObject*>(type)) continue;
    argument.object = Owned::copy(dtype);
    return true;
  }
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value) || Py_TYPE(value) == known_.size) {
    argument.kind =
        PyList_CheckExact(value) ? NodeArgument::Kind::kList : NodeArgument::Kind::kTuple;
    argument.object = Owned();
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); ++k) {
      if (!add(PySequence_Fast_GET_ITEM(value, k))) return false;
    }
    return true;
  }
  if (PyDict_CheckExact(value)) {
    argument.kind = NodeArgument::Kind::kDict;
    argument.object = Owned::steal(PySequence_Tuple(value));
    PyObject *key, *item;
    Py_ssize_t place = 0;
    while (PyDict_Next(value, &place, &key, &item)) {
      if (kind(key) != Kind::kLeaf) {
        stop("break.argument", "a dict with keys other than numbers and strings");
        return false;
      }
      if (!add(item)) return false;
    }
    return true;
  }
  if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    argument.kind = NodeArgument::Kind::kSlice;
    argument.object = Owned();
    return add(slice->start) && add(slice->stop) && add(slice->step);
  }
  stop("break.argument",
       std::string("an argument of type ") + Py_TYPE(value)->tp_name + " of a torch function");
  return false;
}

// Its exception is the program's, unless only a trace could raise it so.
Owned Tracer::torch_call_failed() {
  if (wants_data()) return stop("break.data", "the data of a tensor is read");
  const bool varies =
      limits_.all_sizes_symbolic || (limits_.symbolic != nullptr && !limits_.symbolic->empty());
  // The message would name symbols where eager's has numbers.
  if (varies && !stopping_)
    return stop("break.error", "an operation fails, on tensors whose sizes vary");
  return {};
}

// tensor.requires_grad_(): what is so already stays; no graph makes it otherwise.
Owned Tracer::require_grad(const Arguments& arguments) {
  const bool asked = arguments.total() < 2 || arguments.values[1] == Py_True;
  PyObject* tensor = arguments.total() > 0 ? arguments.values[0] : nullptr;
  const bool known = tensor != nullptr && is_fake(tensor) &&
                     (arguments.total() < 2 || PyBool_Check(arguments.values[1]));
  if (known && asked == TensorTrace::requires_grad(tensor)) return Owned::copy(tensor);
  return stop("break.requires_grad", "whether a tensor requires gradients is set");
}

// A graph has values, however eager holds them.
Owned Tracer::lazy_bit_is_asked() {
  return stop("break.attribute", "whether a tensor is a lazy conjugate or negative");
}

bool Tracer::asks_how_held(PyObject* function) {
  if (function == known_.is_inference)
    stop("break.attribute", "whether a tensor belongs to inference mode");
  else if (function == known_.is_conj || function == known_.is_neg)
    lazy_bit_is_asked();
  else
    return false;
  return true;
}

// Methods that no node of a graph may be, by their name.
std::optional<Owned> Tracer::call_without_node(PyObject* name, const Arguments& arguments) {
  const auto is = [&](const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
  };
  if (is("backward"))
    return stop("break.backward", "gradients are computed inside of the function");
  if (is("is_inference"))  // fakes never are
    return stop("break.attribute", "whether a tensor belongs to inference mode");
  if (is("is_conj") || is("is_neg")) return lazy_bit_is_asked();
  if (is("requires_grad_")) return require_grad(arguments);
  return std::nullopt;
}

// Methods that a tensor without memory cannot have.
static bool looks_at_memory(PyObject* name) {
  static constexpr const char* kNames[] = {
      "numpy",          "__array__",     "__dlpack__",      "data_ptr",  "apply_",
      "map_",           "map2_",         "is_shared",       "storage",   "share_memory_",
      "_typed_storage", "typed_storage", "untyped_storage", "is_pinned", "pin_memory"};
  return std::ranges::any_of(
      kNames, [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; });
}

Owned Tracer::call_torch(CapturedNode::Kind node_kind, PyObject* callable, PyObject* target,
                         const Arguments& arguments) {
  if (asks_how_held(callable)) return {};
  if (node_kind == CapturedNode::Kind::kMethod && looks_at_memory(target)) {
    return stop("break.data", "the data of a tensor is read");
  }
  if (node_kind == CapturedNode::Kind::kMethod) {
    if (std::optional<Owned> done = call_without_node(target, arguments)) return std::move(*done);
  }
  CapturedNode node;
  node.kind = node_kind;
  node.target = Owned::copy(target);
  std::vector<Owned> held;
  std::vector<PyObject*> values;
  bool has_fake = false;
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    held.push_back(localized_deep(arguments.values[k]));
    if (!held.back()) return {};
    values.push_back(held.back().get());
    has_fake = has_fake || contains_tensor(known_, values.back());
  }
  const std::uint64_t before = tensors_.ops();
  Owned value = call_natively(callable, {values.data(), arguments.count, arguments.names});
  if (!value) {
    ops_seen_ = tensors_.ops();  // what ran before an error has changed nothing that is seen
    return torch_call_failed();
  }
  const bool has_result = contains_tensor(known_, value.get());
  if (!has_result && value.get() != Py_None) {
    const Kind what = kind(value.get());
    const bool constant = what == Kind::kLeaf || what == Kind::kSingleton || what == Kind::kTuple ||
                          what == Kind::kList || what == Kind::kDict;
    if (!constant) {
      return stop("break.call", std::string("a torch function that returns an object of type ") +
                                    Py_TYPE(value.get())->tp_name);
    }
    ops_seen_ = tensors_.ops();
    return value;
  }
  if (!has_result && !has_fake && before == tensors_.ops()) return value;
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    if (k < arguments.count) {
      if (!to_argument(values[k], node.arguments.emplace_back())) return {};
      continue;
    }
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments.names, k - arguments.count));
    auto& keyword = node.keywords.emplace_back(name, NodeArgument());
    if (!to_argument(values[k], keyword.second)) return {};
    if (values[k] == Py_True && std::string_view(name) == "requires_grad")
      return stop("break.requires_grad", "a tensor is made that requires gradients");
  }
  ops_seen_ = tensors_.ops();
  if (Py_TYPE(value.get()) == known_.tensor && !TensorTrace::is_fake(value.get()))
    return stop("break.call", "a torch function that returns a tensor with data");
  locate(node);
  Owned result = Owned::copy(value.get());
  recorder_.add(std::move(node), std::move(value));
  return result;
}

Owned Tracer::call_mode(PyObject* callable, const Arguments& arguments) {
  CapturedNode node;
  node.target = Owned::copy(callable);
  for (Py_ssize_t k = 0; k < arguments.total(); ++k) {
    NodeArgument argument;
    if (!to_argument(arguments.values[k], argument)) return {};
    if (k < arguments.count) {
      node.arguments.push_back(std::move(argument));
    } else {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments.names, k - arguments.count));
      node.keywords.emplace_back(name, std::move(argument));
    }
  }
  Owned value = call_natively(callable, arguments);
  if (!value) return {};
  locate(node);
  recorder_.add(std::move(node), Owned::copy(value.get()));
  return value;
}

Owned Tracer::binary(int operation, PyObject* left, PyObject* right) {
  static const OperatorTable operators;
  // A number is not changed in place.
  constexpr int kPlain = NB_INPLACE_ADD - NB_ADD;
  if (is_inplace(operation) && (kind(left) == Kind::kLeaf || is_symbolic(left)))
    operation -= kPlain;
  PyObject* function = operation < 32 ? operators.functions[operation] : nullptr;
  if (function == nullptr) return stop("break.instruction", "an unknown operator");
  PyObject* operands[] = {left, right};
  // An object's own operator, in Python, is asked before or after the tensor's.
  const bool of_object = kind(left) == Kind::kObject || kind(right) == Kind::kObject;
  if (of_object && !is_symbolic(left) && !is_symbolic(right))
    return Owned::steal(PyObject_Vectorcall(function, operands, 2, nullptr));
  if (is_fake(left) || is_fake(right) || is_symbolic(left) || is_symbolic(right))
    return call_torch(CapturedNode::Kind::kFunction, function, function, {operands, 2, nullptr});
  if (kind(left) == Kind::kLeaf && kind(right) == Kind::kLeaf)
    return Owned::steal(PyObject_Vectorcall(function, operands, 2, nullptr));
  if (is_inplace(operation) && is_external(left) && kind(left) != Kind::kTuple &&
      kind(left) != Kind::kObject) {
    if (PyDict_CheckExact(left)) {
      if (!before_whole_write(left)) return {};
    } else if (!PyList_CheckExact(left) && !PySet_CheckExact(left))
      return stop("break.store", std::string("an object of type ") + Py_TYPE(left)->tp_name +
                                     " is changed in place");
    if (!before_write(left)) return {};
    const Owned local = localized(right);
    if (!local) return {};
    operands[1] = local.get();
    return Owned::steal(PyObject_Vectorcall(function, operands, 2, nullptr));
  }
  return call_pure(function, {operands, 2, nullptr});
}

bool Tracer::load_tensor_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                                   Owned& self) {
  const auto is = [&](const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
  };
  if (looks_at_memory(name)) {
    stop("break.data", "the data of a tensor is read");
    return false;
  }
  PyObject* descriptor = _PyType_Lookup(known_.tensor, name);
  if (descriptor == nullptr) {
    PyObject* real = real_of(owner);
    PyObject** dict = real == nullptr ? nullptr : _PyObject_GetDictPtr(real);
    const bool has_dict = dict != nullptr && *dict != nullptr;
    if (has_dict && PyDict_Contains(*dict, name) > 0) {
      stop("break.attribute", std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
      return false;
    }
    if (real != nullptr) {
      const SourceId source = recorder_.source_of(owner);
      guards_.lacks_key(result_.sources.step(SourceKind::kInstanceDict, source), name);
    }
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'",
                 Py_TYPE(real == nullptr ? owner : real)->tp_name, name);
    return false;
  }
  if (Py_TYPE(descriptor)->tp_flags & Py_TPFLAGS_METHOD_DESCRIPTOR) {
    if (Py_TYPE(descriptor) == &PyFunction_Type) class_attribute(known_.tensor, name);
    value = method ? Owned::copy(descriptor)
                   : Owned::steal(Py_TYPE(descriptor)
                                      ->tp_descr_get(descriptor, owner,
                                                     reinterpret_cast<PyObject*>(Py_TYPE(owner))));
    if (method) self = Owned::copy(owner);
    return static_cast<bool>(value);
  }
  PyObject* real = real_of(owner);
  if (is("__class__") && real != nullptr) {
    value = Owned::copy(reinterpret_cast<PyObject*>(Py_TYPE(real)));
    return true;
  }
  if (is("grad") && real != nullptr) {
    const SourceId source =
        result_.sources.step(SourceKind::kTensorGrad, recorder_.source_of(owner));
    const Owned grad = Owned::steal(PyObject_GetAttr(real, name));
    if (!grad) return false;
    if (grad.get() == Py_None) guards_.absent(source);
    value = grad.get() == Py_None ? Owned::copy(Py_None) : read(grad.get(), source);
    return static_cast<bool>(value);
  }
  if (is("grad_fn") || is("_version") || is("_base") || is("__dict__") || is("name") ||
      is("_backward_hooks")) {
    stop("break.attribute", std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
    return false;
  }
  if (is("data")) result_.hides_writes = true;
  static PyObject* const getattr = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
  PyObject* arguments[] = {owner, name};
  value = call_torch(CapturedNode::Kind::kFunction, getattr, getattr, {arguments, 2, nullptr});
  return static_cast<bool>(value);
}

}  // namespace triptych::capture
