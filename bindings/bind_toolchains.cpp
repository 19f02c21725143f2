// Toolchains in C++.
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "codegen/toolchains/llvm_compiler.h"
#include "codegen/toolchains/prepare_llvm.h"

namespace nb = nanobind;

namespace triptych::bindings {

namespace {

using toolchains::LlvmCode;

std::shared_ptr<LlvmCode> compile_llvm(const std::string& library, const std::string& text,
                                       const std::vector<std::string>& entries,
                                       const std::map<std::string, std::uint64_t>& imports,
                                       const std::string& cpu, const std::string& features,
                                       int level, int threads) {
  Result<std::shared_ptr<LlvmCode>> code = [&] {
    const nb::gil_scoped_release released;
    auto compiler = toolchains::llvm_compiler(library, {cpu, features, level});
    if (!compiler.ok()) return Result<std::shared_ptr<LlvmCode>>(compiler.error());
    return compiler.value()->compile(text, entries, imports, threads);
  }();
  return unwrap(std::move(code));
}

}  // namespace

void bind_toolchains(nb::module_& module) {
  nb::class_<LlvmCode>(module, "LlvmCode", "Machine code, loaded as long as this object lives.")
      .def_ro("addresses", &LlvmCode::addresses);
  module.def("compile_llvm", &compile_llvm, nb::arg("library"), nb::arg("text"), nb::arg("entries"),
             nb::arg("imports"), nb::arg("cpu"), nb::arg("features"), nb::arg("level"),
             nb::arg("threads"),
             "LLVM IR to machine code by the LLVM of the given library file (llvmlite's).");
  module.def(
      "prepare_llvm",
      [](const std::string& library, const std::string& cpu, const std::string& features,
         int level) { toolchains::prepare_llvm(library, {cpu, features, level}); },
      nb::arg("library"), nb::arg("cpu"), nb::arg("features"), nb::arg("level"),
      "Loads LLVM in a thread of its own, once; returns at once.");
  module.def("finish_preparing_llvm", &toolchains::finish_preparing_llvm,
             nb::call_guard<nb::gil_scoped_release>(), "Waits for that thread.");
}

}  // namespace triptych::bindings
