#include "capture_host.h"

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "capture/trace/capture.h"
#include "capture_graph.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

std::string text_attribute(nb::handle object, const char* name) {
  return nb::cast<std::string>(nb::str(nb::getattr(object, name, nb::str(""))));
}

// An exception of the backend's as an error. One that is not ours is the caller's to see, and is
// set again.
Error error_of(nb::python_error& raised) {
  const nb::module_ errors = nb::module_::import_("triptych.errors");
  Error error;
  if (raised.matches(errors.attr("UnsupportedError"))) {
    error.kind = ErrorKind::kUnsupported;
  } else if (!raised.matches(errors.attr("InternalError"))) {
    raised.restore();
    return user_error("capture.backend", "the backend raised");
  }
  const nb::handle value = raised.value();
  error.code = text_attribute(value, "code");
  error.message = text_attribute(value, "message");
  error.location = text_attribute(value, "location");
  error.hint = text_attribute(value, "hint");
  return error;
}

// While we capture and compile, Dynamo does not: its own frame hook may be at work around us.
class DynamoPaused {
 public:
  DynamoPaused() : set_(setter()), before_(set_(nb::none())) {}
  ~DynamoPaused() {
    try {
      set_(before_);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("triptych: Dynamo's callback");
    }
  }
  DynamoPaused(const DynamoPaused&) = delete;
  DynamoPaused& operator=(const DynamoPaused&) = delete;

 private:
  static nb::object setter() {
    return nb::module_::import_("torch._C._dynamo.eval_frame").attr("set_eval_frame");
  }
  nb::object set_, before_;
};

// Runs a report; what it raises is nobody's.
template <class Report>
void ignoring_errors(const char* what, Report report) {
  try {
    report();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable(what);
  }
}

}  // namespace

Result<capture::CaptureResult> PythonHost::capture(const capture::CaptureRequest& request) {
  try {
    const DynamoPaused paused;
    return capture::capture(request);
  } catch (nb::python_error& error) {
    return error_of(error);
  } catch (const std::exception& error) {
    return internal_error("capture.exception", error.what());
  }
}

Result<capture::Owned> PythonHost::compile(const capture::CaptureResult& captured,
                                           const capture::GuardProgram& guards,
                                           std::span<PyObject* const> inputs) {
  try {
    const DynamoPaused paused;
    nb::object builder = host_.attr("builder")();
    emit_graph(captured, guards, builder);
    if (nb::cast<bool>(host_.attr("wants_guards"))) {
      nb::list texts;
      for (const std::string& text : guards.texts()) texts.append(text);
      host_.attr("guards")(texts);
    }
    nb::list given;
    for (PyObject* input : inputs) given.append(nb::borrow(input));
    nb::object graph = host_.attr("compile")(builder, given);
    return capture::Owned::steal(graph.release().ptr());
  } catch (nb::python_error& error) {
    return error_of(error);
  }
}

void PythonHost::recompiles(const std::vector<capture::GuardFailure>& reasons) {
  ignoring_errors("triptych: report of a recompile", [&] {
    nb::list texts;
    for (const capture::GuardFailure& reason : reasons) {
      texts.append(nb::make_tuple(reason.text, reason.location));
    }
    host_.attr("recompiles")(texts);
  });
}

void PythonHost::breaks(const capture::Break& stop) {
  ignoring_errors("triptych: report of a graph break",
                  [&] { host_.attr("breaks")(stop.code, stop.message, stop.location, stop.hint); });
}

void PythonHost::runs_eagerly(const Error& error) {
  ignoring_errors("triptych: report of an eager call", [&] {
    host_.attr("runs_eagerly")(error.kind == ErrorKind::kInternal, error.code, error.message,
                               error.location, error.hint);
  });
}

bool PythonHost::graph_raised(bool undone) {
  nb::python_error raised;  // takes it
  try {
    const bool program_runs = nb::cast<bool>(host_.attr("graph_raised")(raised.value(), undone));
    if (!program_runs) raised.restore();
    return program_runs;
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("triptych: report of a graph that raised");
    raised.restore();
    return false;
  }
}

void PythonHost::raise(const Error& error) {
  try {
    bindings::raise(error);
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

int PythonHost::traverse(visitproc visit, void* arg) {
  Py_VISIT(host_.ptr());
  return 0;
}

}  // namespace triptych::bindings
