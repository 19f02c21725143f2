// The metadata of a tensor that a captured region depends on: read when it is captured, compared at
// each call.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture/guards/guard.h"

namespace triptych::capture {

// Of a torch.Tensor or an object of a subclass, which the caller has made sure of.
TensorFacts read_tensor_facts(PyObject* tensor);

// After `symbolic` was set: finds out which strides follow the sizes, from the innermost dimension
// outwards, as stage 2 does.
void follow_sizes(TensorFacts& facts);

bool tensor_matches(const TensorFacts& facts, PyObject* object);

// "float32[2, s]": symbolic sizes by a letter.
std::string tensor_text(const TensorFacts& facts);

// What differs, for people: ".shape[0] changed: 4 -> 8". Empty when the tensor matches.
std::string tensor_change(const TensorFacts& facts, PyObject* object);

// The sizes of an object of the type of `facts`, of the same rank; else empty.
std::vector<std::int64_t> sizes_of(const TensorFacts& facts, PyObject* object);
// Of a tensor with such a dimension.
std::int64_t tensor_size(PyObject* tensor, int dimension);

// The tensors use no common byte of memory, by their extents: where two views of one storage
// interleave they are said to share it.
bool tensors_disjoint(PyObject* a, PyObject* b);

// How often a tensor was written in place, as autograd counts it; -1: it counts nothing.
std::int64_t tensor_version(PyObject* tensor);
void set_tensor_version(PyObject* tensor, std::int64_t version);

// A new reference to the gradient as Python has it; null without an exception when there is none.
PyObject* tensor_grad(PyObject* tensor);

// Whether the type is torch.Tensor or derived from it.
bool is_tensor_type(PyTypeObject* type);

}  // namespace triptych::capture
