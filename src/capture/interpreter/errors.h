// The exceptions that CPython's evaluator raises itself, with its texts.
#pragma once

#include "capture/interpreter/activation.h"

namespace triptych::capture {

Flow raise_name_error(Borrowed name);
Flow raise_unbound(Activation& activation, int slot);
Flow raise_type_error(const char* format,
                      Borrowed culprit);  // the format takes the culprit's type name

// The exception that is set is of this class; it is cleared.
bool cleared(PyObject* exception_class);

// mapping[name], where a missing key is no error: `found` stays null. False: an exception is set.
bool look_up(Borrowed mapping, Borrowed name, Owned& found);

}  // namespace triptych::capture
