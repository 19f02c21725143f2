// Values that are what they are: immutable objects of built-in types (and PyTorch's device and
// Size), which can be compared and printed without running anybody's code.
#pragma once

#include <Python.h>

#include <string>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

// None, bool, int, float, complex, str, bytes, Ellipsis, NotImplemented, range, slice, and tuples,
// frozensets and torch.Size of these, torch.device and other immutable values of torch's (dtype,
// layout, ...). Exact types only.
bool is_plain_value(PyObject* object);

// Same type and same value. Floats by their bits: 0.0 is not -0.0, and a NaN equals itself. False
// for what is not plain, unless it is one object.
bool plain_equal(PyObject* a, PyObject* b);

// For people: the repr of a plain value (cut where it is long), else the type with the name.
std::string plain_text(Borrowed object);

std::string utf8(Borrowed text);  // of a str

}  // namespace triptych::capture
