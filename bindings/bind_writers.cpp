// Kernel text to the text of a language, and kernel text to results: what the writers' tests and
// tools need.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "codegen/loops/interpreter.h"
#include "codegen/loops/kernel.h"
#include "codegen/mapping/host_traits.h"
#include "codegen/writers/cpp/cpp_writer.h"
#include "codegen/writers/llvm/llvm_writer.h"
#include "codegen/writers/math_functions.h"

namespace nb = nanobind;

namespace triptych::bindings {

namespace {

loops::Kernel checked_kernel(const std::string& text) {
  loops::Kernel kernel = unwrap(loops::parse_kernel(text));
  std::vector<Error> errors = loops::verify_kernel(kernel);
  if (!errors.empty()) raise(errors.front());
  return kernel;
}

// `overrides`: fields of Traits by name.
mapping::Traits traits_from(const nb::kwargs& overrides) {
  mapping::Traits traits = mapping::host_traits();
  for (auto [key, value] : overrides) {
    std::string name = nb::cast<std::string>(key);
    if (name == "vector_bytes")
      traits.vector_bytes = nb::cast<int>(value);
    else if (name == "masked_memory")
      traits.masked_memory = nb::cast<bool>(value);
    else if (name == "bf16_convert")
      traits.bf16_convert = nb::cast<bool>(value);
    else if (name == "fma")
      traits.fma = nb::cast<bool>(value);
    else if (name == "l2_bytes")
      traits.l2_bytes = nb::cast<std::int64_t>(value);
    else if (name == "streaming_store_bytes")
      traits.streaming_store_bytes = nb::cast<std::int64_t>(value);
    else
      throw nb::type_error(("write_kernels: unknown trait " + name).c_str());
  }
  return traits;
}

nb::dict write_kernels(const std::vector<std::string>& texts, const std::string& language,
                       const nb::kwargs& overrides) {
  std::vector<loops::Kernel> kernels;
  for (const std::string& text : texts) kernels.push_back(checked_kernel(text));
  writers::LlvmWriter llvm;
  writers::CppWriter cpp;
  const writers::Writer* writer = nullptr;
  if (language == "llvm") writer = &llvm;
  if (language == "cpp") writer = &cpp;
  if (writer == nullptr) raise(user_error("writers.language", "no writer of language " + language));
  writers::Module module = unwrap(writer->write(kernels, traits_from(overrides)));
  nb::dict result;
  result["language"] = module.language;
  result["text"] = module.text;
  result["entries"] = module.entries;
  result["externals"] = module.externals;
  return result;
}

// The error word. `buffers`: addresses, in the order of the kernel's parameters.
std::int32_t interpret_kernel(const std::string& text, const std::vector<std::uintptr_t>& buffers,
                              const std::vector<std::int64_t>& symbols) {
  loops::Kernel kernel = checked_kernel(text);
  std::vector<void*> pointers;
  for (std::uintptr_t address : buffers) pointers.push_back(reinterpret_cast<void*>(address));
  std::int32_t error = 0;
  unwrap(loops::interpret(kernel, pointers, symbols, error));
  return error;
}

nb::list scalar_ops() {
  nb::list rows;
  for (int op = 0; op <= static_cast<int>(loops::ScalarOp::kSelect); ++op) {
    const loops::ScalarOpInfo& row = loops::info(static_cast<loops::ScalarOp>(op));
    rows.append(nb::make_tuple(std::string(row.name), row.arity, row.bool_result, row.floats_only));
  }
  return rows;
}

std::uintptr_t math_function_address(const std::string& name) {
  const void* address = writers::math_function_address(name);
  if (address == nullptr) throw nb::key_error(name.c_str());
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

void bind_writers(nb::module_& module) {
  module.def("write_kernels", &write_kernels, nb::arg("texts"), nb::arg("language"),
             nb::arg("traits"),
             "Kernels as one module: {language, text, entries, externals}. Keywords replace traits "
             "of this machine.");
  module.def("interpret_kernel", &interpret_kernel, nb::arg("text"), nb::arg("buffers"),
             nb::arg("symbols"),
             "Runs a kernel by the reference interpreter over addresses; returns the error word.");
  module.def("scalar_ops", &scalar_ops,
             "Rows (name, arity, bool_result, floats_only) of the scalar operations.");
  module.def("math_function_address", &math_function_address, nb::arg("name"));
}

}  // namespace triptych::bindings
