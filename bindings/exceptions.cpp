#include "exceptions.h"

#include "bindings.h"
#include "runtime/errors.h"

namespace nb = nanobind;

// Of libtorch_python; its own header costs 15 s a file.
namespace torch {
void translate_exception_to_python(const std::exception_ptr& exception);
}

namespace triptych::bindings {

namespace {

void restore(const Error& error) {
  try {
    raise(error);
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

void translate(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const runtime::ProgramError& error) {
    restore(error.error());
  } catch (const InternalError& error) {
    restore(internal_error("check", error.what()));
  } catch (const nb::builtin_exception&) {
    throw;  // nanobind's own translation is right
  } catch (...) {
    torch::translate_exception_to_python(exception);
  }
}

}  // namespace

void set_python_error() noexcept {
  try {
    translate(std::current_exception());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "triptych: an exception could not be translated");
  }
}

void register_runtime_exceptions() {
  nb::register_exception_translator(
      [](const std::exception_ptr& exception, void*) { translate(exception); });
}

}  // namespace triptych::bindings
