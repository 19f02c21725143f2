#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUser:
      return "UserError";
    case ErrorKind::kUnsupported:
      return "UnsupportedError";
    case ErrorKind::kInternal:
      return "InternalError";
  }
  return "InternalError";
}

}  // namespace

void raise(const Error& error) {
  const nb::object type = nb::module_::import_("triptych.errors").attr(class_name(error.kind));
  const nb::object exception = type(error.describe(), error.code, error.location, error.hint);
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw nb::python_error();
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const InternalError& failure) {
      try {
        raise(internal_error("check", failure.what()));
      } catch (nb::python_error& raised) {
        raised.restore();
      }
    }
  });
}

}  // namespace triptych::bindings
