// The runtime: executables, the reference executor, memory that is kept between calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>

#include "bindings.h"
#include "exceptions.h"
#include "program_object.h"
#include "python_bridge/tensors/tensor_conversion.h"
#include "python_kernel.h"
#include "runtime/executable.h"
#include "runtime/graph_runner.h"
#include "runtime/large_memory.h"
#include "runtime/small_memory.h"

namespace nb = nanobind;

namespace triptych::bindings {

namespace {

using runtime::Executable;

// Every executable alive, so that reset() reaches all.
class Registry {
 public:
  void add(const std::shared_ptr<Executable>& executable) {
    const std::lock_guard lock(mutex_);
    alive_.erase(
        std::remove_if(alive_.begin(), alive_.end(), [](const auto& w) { return w.expired(); }),
        alive_.end());
    alive_.push_back(executable);
  }
  template <class F>
  void each(const F& visit) {
    const std::lock_guard lock(mutex_);
    for (const auto& weak : alive_) {
      if (const auto executable = weak.lock()) visit(*executable);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Executable>> alive_;
};

Registry& registry() {
  static Registry* const forever = new Registry;
  return *forever;
}

// An address of a C function, or whatever the device's launcher takes.
std::vector<runtime::CompiledKernel> compiled_kernels(const plan::Program& program,
                                                      const nb::list& compiled,
                                                      const nb::object& launcher) {
  std::vector<runtime::CompiledKernel> kernels;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    runtime::CompiledKernel kernel;
    if (launcher.is_none()) {
      kernel.function =
          reinterpret_cast<runtime::KernelFunction>(nb::cast<std::uintptr_t>(compiled[i]));
    } else {
      kernel.callable =
          make_python_kernel(program.kernels.at(i), launcher, nb::object(compiled[i]));
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::shared_ptr<Executable> make_executable(const plan::Program& program, const nb::list& compiled,
                                            const nb::object& launcher, bool strict,
                                            std::shared_ptr<ir::Graph> graph) {
  auto executable =
      std::make_shared<Executable>(program, compiled_kernels(program, compiled, launcher),
                                   runtime::ExecutableOptions{strict, std::move(graph)});
  registry().add(executable);
  return executable;
}

std::vector<runtime::InputRef> inputs_of(const nb::object& sequence) {
  const nb::object fast =
      nb::steal(PySequence_Fast(sequence.ptr(), "expected a sequence of inputs"));
  if (!fast.is_valid()) throw nb::python_error();
  std::vector<runtime::InputRef> inputs;
  read_inputs(PySequence_Fast_ITEMS(fast.ptr()),
              static_cast<std::size_t>(PySequence_Fast_GET_SIZE(fast.ptr())), inputs);
  return inputs;
}

PyObject* value_object(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) return wrap_tensor(value.toTensor());
  if (value.isInt()) return PyLong_FromLongLong(value.toInt());
  if (value.isDouble()) return PyFloat_FromDouble(value.toDouble());
  if (value.isBool()) return PyBool_FromLong(value.toBool() ? 1 : 0);
  return Py_NewRef(Py_None);
}

nb::tuple run_graph(const ir::Graph& graph, const nb::args& inputs) {
  const std::vector<c10::IValue> values = runtime::values_of(inputs_of(inputs));
  std::vector<c10::IValue> results;
  {
    const nb::gil_scoped_release released;
    results = runtime::run_graph(graph, values);
  }
  nb::list list;
  for (const c10::IValue& result : results) {
    PyObject* object = value_object(result);
    if (object == nullptr) throw nb::python_error();
    list.append(nb::steal(object));
  }
  return nb::tuple(list);
}

std::int64_t retained_arena_bytes() {
  std::int64_t bytes = 0;
  registry().each([&](const Executable& executable) { bytes += executable.retained_bytes(); });
  return bytes;
}

void release_memory() {
  registry().each([](Executable& executable) { executable.reset(); });
  runtime::trim_large_memory();
  runtime::trim_small_memory();
}

}  // namespace

void bind_runtime(nb::module_& module) {
  register_runtime_exceptions();
  bind_program_object(module);
  nb::class_<Executable>(module, "Executable")
      .def(
          "accepts",
          [](Executable& self, const nb::object& inputs) {
            return self.accepts(inputs_of(inputs));
          },
          "Do inputs, symbols and guards fit? Nothing is run.")
      .def("reset", &Executable::reset, "Drops memory that no running call is using.")
      .def_prop_ro("retained_bytes", &Executable::retained_bytes)
      .def_prop_ro("restrided_results", &Executable::restrided_results);
  module.def("make_executable", &make_executable, nb::arg("program"), nb::arg("compiled"),
             nb::arg("launcher").none() = nb::none(), nb::arg("strict") = false,
             nb::arg("graph").none() = nb::none());
  module.def("make_callable", &make_program_object, nb::arg("executable"),
             nb::arg("keep_alive").none());
  const nb::object graph = module.attr("Graph");
  nb::cpp_function_def(&run_graph, nb::scope(graph), nb::name("run"), nb::is_method(),
                       "Runs the graph node by node by ATen; returns a tuple.");
  module.def("retained_arena_bytes", &retained_arena_bytes);
  module.def("large_memory_bytes", [] {
    const runtime::LargeMemoryState state = runtime::large_memory_state();
    return nb::make_tuple(state.used_bytes, state.cached_bytes);
  });
  module.def("release_memory", &release_memory);
}

}  // namespace triptych::bindings
