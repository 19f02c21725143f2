#include "bindings/errors.h"

#include <nanobind/nanobind.h>

#include "runtime/errors.h"

namespace nb = nanobind;

// Of libtorch_python; its own header costs 15 s a file.
namespace torch {
void translate_exception_to_python(const std::exception_ptr& exception);
}

namespace triptych::bindings {

namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUser: return "UserError";
    case ErrorKind::kUnsupported: return "UnsupportedError";
    case ErrorKind::kInternal: return "InternalError";
  }
  return "InternalError";
}

void set(const Error& error) {
  nb::object type = nb::module_::import_("triptych.errors").attr(class_name(error.kind));
  nb::object exception = type(error.message, error.code, error.location, error.hint);
  PyErr_SetObject(type.ptr(), exception.ptr());
}

void translate(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const runtime::ProgramError& error) {
    set(error.error());
  } catch (const InternalError& error) {
    set(internal_error("check", error.what()));
  } catch (...) {
    torch::translate_exception_to_python(exception);
  }
}

}  // namespace

void raise(const Error& error) {
  set(error);
  throw nb::python_error();
}

void set_python_error() noexcept {
  try {
    translate(std::current_exception());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "triptych: an exception could not be translated");
  }
}

void register_exceptions() {
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const runtime::ProgramError& error) {
      set(error.error());
    } catch (const InternalError& error) {
      set(internal_error("check", error.what()));
    } catch (const nb::builtin_exception&) {
      throw;  // nanobind's own translation is right
    } catch (const std::exception&) {
      torch::translate_exception_to_python(exception);
    }
  });
}

}  // namespace triptych::bindings
