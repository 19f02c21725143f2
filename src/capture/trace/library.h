// The objects of Python and torch that the tracer treats in a way of their own, looked up once per
// process, and what kind of thing any object is to a capture.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <utility>

namespace triptych::capture {

enum class Kind : std::uint8_t {
  kLeaf,       // an immutable value: guarded by equality, a constant from then on
  kSingleton,  // guarded by identity: types, functions, Python modules, enum members, dtypes, ...
  kTensor,     // torch.Tensor, Parameter, Buffer
  kSubclass,   // a tensor of another class
  kTuple,      // subclasses of containers included
  kList,
  kDict,
  kSet,     // set or frozenset
  kMethod,  // bound to an object
  kPartial,
  kCell,
  kObject,  // of a class: attributes are read one by one
  kOpaque,  // of a C type that nothing is known of
};

struct Library {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* tensor_base = nullptr;  // where the C methods are
  PyTypeObject* parameter = nullptr;
  PyTypeObject* buffer = nullptr;
  PyTypeObject* size = nullptr;    // torch.Size
  PyTypeObject* device = nullptr;  // torch.device
  PyTypeObject* dtype = nullptr;
  PyTypeObject* sym_int = nullptr;  // numbers of symbolic sizes
  PyTypeObject* sym_float = nullptr;
  PyTypeObject* sym_bool = nullptr;
  PyTypeObject* enum_type = nullptr;
  PyObject* enum_value = nullptr;          // the descriptors Enum.value and Enum.name
  PyObject* enum_name = nullptr;           //
  PyObject* enum_members = nullptr;        // EnumMeta.__members__
  PyObject* abc_instance_check = nullptr;  // ABCMeta.__instancecheck__
  PyObject* abc_subclass_check = nullptr;
  PyObject* abc_is_instance = nullptr;  // the functions of C behind them
  PyObject* abc_is_subclass = nullptr;
  PyTypeObject* partial = nullptr;
  PyTypeObject* lru_cache = nullptr;
  PyTypeObject* defaultdict = nullptr;
  PyTypeObject* nn_module = nullptr;
  PyObject* nn_module_getattr = nullptr;  // Module.__getattr__
  PyObject* nn_module_call = nullptr;     // Module.__call__
  PyObject* nn_module_call_impl = nullptr;
  PyObject* nn_module_file = nullptr;  // torch.nn.modules.module
  PyObject* torch_c = nullptr;         // torch._C
  PyObject* operator_getitem = nullptr;
  // What `dtype=float` stands for, by Python's type.
  std::array<std::pair<PyTypeObject*, PyObject*>, 4> dtypes_of_types{};
  PyObject* is_inference = nullptr;  // torch.is_inference
  PyObject* is_conj = nullptr;
  PyObject* is_neg = nullptr;
  PyObject* stop = nullptr;  // the exception by which a trace ends
};

// Null with an exception set when torch is not as expected.
const Library* library();

inline bool is_symbolic(const Library& known, PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == known.sym_int || type == known.sym_bool || type == known.sym_float;
}

Kind kind_of_type(const Library& known, PyTypeObject* type);

}  // namespace triptych::capture
