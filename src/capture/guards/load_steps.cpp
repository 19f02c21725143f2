#include "capture/guards/load_steps.h"

#include <structmember.h>

#include <cstddef>

#include "capture/guards/tensor_facts.h"
#include "capture/guards/type_dict.h"

// Exported by every CPython, declared in a private header from 3.13 on.
extern "C" PyObject* _PyDict_GetItem_KnownHash(PyObject* dict, PyObject* key, Py_hash_t hash);

namespace triptych::capture {
namespace {

bool set(const GuardStep& step, GuardContext& context, PyObject* value) {
  context.registers[step.to] = value;
  return true;
}

bool slot(const GuardStep& step, GuardContext& context) {
  const auto number = static_cast<std::size_t>(step.a.number);
  return number < context.slot_count && set(step, context, context.slots[number]);
}

bool stack(const GuardStep& step, GuardContext& context) {
  const auto number = static_cast<std::size_t>(step.a.number);
  return number < context.stack_count && set(step, context, context.stack[number]);
}

bool function(const GuardStep& step, GuardContext& context) {
  return set(step, context, context.function);
}

bool constant(const GuardStep& step, GuardContext& context) {
  return set(step, context, step.a.object);
}

bool own_dict(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  return object != nullptr && set(step, context, instance_dict(object));
}

bool dict_item(const GuardStep& step, GuardContext& context) {
  PyObject* const dict = context.registers[step.from];
  if (dict == nullptr) return step.from_instance_dict && set(step, context, nullptr);
  if (!PyDict_Check(dict)) return false;
  PyObject* const value =
      _PyDict_GetItem_KnownHash(dict, step.a.object, static_cast<Py_hash_t>(step.b.number));
  if (value == nullptr && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return set(step, context, value);
}

bool list_item(const GuardStep& step, GuardContext& context) {
  PyObject* const list = context.registers[step.from];
  return list != nullptr && PyList_Check(list) && step.a.number < PyList_GET_SIZE(list) &&
         set(step, context, PyList_GET_ITEM(list, step.a.number));
}

bool tuple_item(const GuardStep& step, GuardContext& context) {
  PyObject* const tuple = context.registers[step.from];
  return tuple != nullptr && PyTuple_Check(tuple) && step.a.number < PyTuple_GET_SIZE(tuple) &&
         set(step, context, PyTuple_GET_ITEM(tuple, step.a.number));
}

// `a` is the type that declares the slot, `b` where the slot lies in its objects.
bool member_slot(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  auto* const type = reinterpret_cast<PyTypeObject*>(step.a.object);
  if (object == nullptr || !PyObject_TypeCheck(object, type)) return false;
  return set(step, context,
             *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + step.b.number));
}

bool type(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  return object != nullptr && set(step, context, reinterpret_cast<PyObject*>(Py_TYPE(object)));
}

bool class_attribute(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  if (object == nullptr || !PyType_Check(object)) return false;
  return set(step, context, _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), step.a.object));
}

bool cell_contents(const GuardStep& step, GuardContext& context) {
  PyObject* const cell = context.registers[step.from];
  return cell != nullptr && PyCell_Check(cell) && set(step, context, PyCell_GET(cell));
}

PyFunctionObject* python_function(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  if (object == nullptr || !PyFunction_Check(object)) return nullptr;
  return reinterpret_cast<PyFunctionObject*>(object);
}

bool closure_cell(const GuardStep& step, GuardContext& context) {
  const PyFunctionObject* function = python_function(step, context);
  if (function == nullptr || function->func_closure == nullptr) return false;
  if (step.a.number >= PyTuple_GET_SIZE(function->func_closure)) return false;
  return set(step, context, PyTuple_GET_ITEM(function->func_closure, step.a.number));
}

template <PyObject* PyFunctionObject::* field>
bool function_field(const GuardStep& step, GuardContext& context) {
  const PyFunctionObject* function = python_function(step, context);
  return function != nullptr && set(step, context, function->*field);
}

bool method_self(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  return object != nullptr && PyMethod_Check(object) &&
         set(step, context, PyMethod_GET_SELF(object));
}

bool method_function(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  return object != nullptr && PyMethod_Check(object) &&
         set(step, context, PyMethod_GET_FUNCTION(object));
}

// Both kinds of wrapper begin with what they wrap: `b` is where.
bool wrapped_function(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  if (object == nullptr) return false;
  const bool wraps = PyObject_TypeCheck(object, &PyStaticMethod_Type) ||
                     PyObject_TypeCheck(object, &PyClassMethod_Type);
  return wraps &&
         set(step, context,
             *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + step.b.number));
}

// The object stays alive: the tensor holds the gradient, which holds its one object.
bool grad(const GuardStep& step, GuardContext& context) {
  PyObject* const object = context.registers[step.from];
  if (object == nullptr || !is_tensor_type(Py_TYPE(object))) return false;
  const Owned value = Owned::steal(tensor_grad(object));
  if (!value && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return set(step, context, value.get());
}

bool make_member(PyObject* descriptor, GuardStep& step) {
  if (descriptor == nullptr || !Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
    PyErr_SetString(PyExc_TypeError, "a guard expects a member descriptor");
    return false;
  }
  const auto* member = reinterpret_cast<PyMemberDescrObject*>(descriptor);
  if (member->d_member->type != T_OBJECT_EX && member->d_member->type != T_OBJECT) {
    PyErr_SetString(PyExc_TypeError, "a guard expects a slot that holds an object");
    return false;
  }
  step.run = member_slot;
  step.a.object = reinterpret_cast<PyObject*>(PyDescr_TYPE(descriptor));
  step.b.number = member->d_member->offset;
  return true;
}

bool make_type_member(PyTypeObject* type, const char* name, GuardStep& step) {
  return make_member(PyDict_GetItemString(type_dict(type), name), step);
}

bool make_wrapped_function(GuardStep& step) {
  GuardStep other;
  if (!make_type_member(&PyStaticMethod_Type, "__func__", step)) return false;
  if (!make_type_member(&PyClassMethod_Type, "__func__", other)) return false;
  step.run = wrapped_function;
  return step.b.number == other.b.number;
}

// The parts of a functools.partial are slots of its C type.
bool make_partial_part(const char* name, GuardStep& step) {
  const Owned functools = Owned::steal(PyImport_ImportModule("functools"));
  if (!functools) return false;
  const Owned type = Owned::steal(PyObject_GetAttrString(functools.get(), "partial"));
  const Owned part = Owned::steal(type ? PyObject_GetAttrString(type.get(), name) : nullptr);
  return part && make_member(part.get(), step);
}

RunStep plain_load(SourceKind kind) {
  switch (kind) {
    case SourceKind::kSlot:
      return slot;
    case SourceKind::kStack:
      return stack;
    case SourceKind::kFunction:
      return function;
    case SourceKind::kConstant:
      return constant;
    case SourceKind::kInstanceDict:
      return own_dict;
    case SourceKind::kDictItem:
      return dict_item;
    case SourceKind::kListItem:
      return list_item;
    case SourceKind::kTupleItem:
      return tuple_item;
    case SourceKind::kType:
      return type;
    case SourceKind::kClassAttribute:
      return class_attribute;
    case SourceKind::kCellContents:
      return cell_contents;
    case SourceKind::kClosureCell:
      return closure_cell;
    case SourceKind::kFunctionCode:
      return function_field<&PyFunctionObject::func_code>;
    case SourceKind::kFunctionGlobals:
      return function_field<&PyFunctionObject::func_globals>;
    case SourceKind::kFunctionBuiltins:
      return function_field<&PyFunctionObject::func_builtins>;
    case SourceKind::kFunctionDefaults:
      return function_field<&PyFunctionObject::func_defaults>;
    case SourceKind::kFunctionKwDefaults:
      return function_field<&PyFunctionObject::func_kwdefaults>;
    case SourceKind::kMethodSelf:
      return method_self;
    case SourceKind::kMethodFunction:
      return method_function;
    case SourceKind::kTensorGrad:
      return grad;
    case SourceKind::kMemberSlot:
    case SourceKind::kPartialFunction:
    case SourceKind::kPartialArguments:
    case SourceKind::kPartialKeywords:
    case SourceKind::kPropertyGetter:
    case SourceKind::kWrappedFunction:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

bool make_load(const Source& source, GuardStep& step) {
  const SourceKind kind = source.kind;
  if (kind == SourceKind::kMemberSlot) return make_member(source.object.get(), step);
  if (kind == SourceKind::kPartialFunction) return make_partial_part("func", step);
  if (kind == SourceKind::kPartialArguments) return make_partial_part("args", step);
  if (kind == SourceKind::kPartialKeywords) return make_partial_part("keywords", step);
  if (kind == SourceKind::kPropertyGetter) {
    return make_type_member(&PyProperty_Type, "fget", step);
  }
  if (kind == SourceKind::kWrappedFunction) return make_wrapped_function(step);
  step.run = plain_load(kind);
  if (source.object) {
    step.a.object = source.object.get();
    step.b.number = source.key_hash;
  } else {
    step.a.number = source.number;
  }
  return true;
}

PyObject* instance_dict(PyObject* object) {
  PyObject** const place = _PyObject_GetDictPtr(object);
  return place == nullptr ? nullptr : *place;
}

}  // namespace triptych::capture
