// What the tracer knows of functions that it does not interpret: C functions and methods by their
// definition, Python functions by what they are.
#pragma once

#include <Python.h>

#include "capture/trace/library.h"
#include "capture/trace/tracer.h"

namespace triptych::capture {

// A function or method of C, bound or not, or a type.
struct CFunction {
  PyObject* callable = nullptr;
  const void* key = nullptr;  // its definition, the same for all objects it is bound to
  PyObject* self = nullptr;   // what it is bound to; null for functions of a module
};

CFunction c_function_of(PyObject* callable);

struct BuiltinRule {
  // `arguments` begin with what the function is bound to, if so.
  using Run = Owned (*)(Tracer&, const BuiltinRule&, const CFunction&, const Arguments&);
  Run run = nullptr;
};

// Null: nothing is known of it.
const BuiltinRule* builtin_rule(const Library& known, const CFunction& function);

// Ops and library functions of torch written in C.
bool is_torch_function(const Library& known, const CFunction& function);
// The name of a method of torch.Tensor, borrowed; null for anything else.
PyObject* tensor_method_name(const Library& known, const CFunction& function);

// Objects of the type are made by object.__new__, or by a C base that only holds what it is given.
bool is_plain_new(PyTypeObject* type);

struct FunctionRule {
  enum class Kind : unsigned char {
    kInterpret,
    kTorch,     // one node
    kConstant,  // the answer while compiling
    kNative,    // runs without being looked at: its result follows from its arguments
    kBreak,
    kFirstArgument,  // calls its first argument with the others
  };
  Kind kind = Kind::kInterpret;
  bool is_method = false;
  PyObject* constant = nullptr;
  const char* hint = "";
};

FunctionRule function_rule(const Library& known, PyObject* function);

}  // namespace triptych::capture
