// The text that writers print, as golden files. Whether it computes the right thing is
// tests/python/test_writers.py's.
#include <doctest/doctest.h>

#include <string>

#include "codegen/loops/kernel.h"
#include "codegen/mapping/host_traits.h"
#include "codegen/writers/cpp/cpp_writer.h"
#include "codegen/writers/llvm/llvm_writer.h"
#include "codegen/writers/math_functions.h"
#include "golden.h"

namespace triptych::writers {
namespace {

mapping::Traits wide_machine() {
  mapping::Traits traits;
  traits.vector_bytes = 64;
  traits.vector_registers = 32;
  traits.masked_memory = true;
  traits.bf16_convert = true;
  return traits;
}

loops::Kernel kernel_of(const std::string& name) {
  Result<loops::Kernel> kernel =
      loops::parse_kernel(testing::read_golden("writers/" + name + ".kernel"));
  REQUIRE_MESSAGE(kernel.ok(), (kernel.ok() ? "" : kernel.error().describe()));
  for (const Error& error : loops::verify_kernel(kernel.value())) FAIL_CHECK(error.message);
  return std::move(kernel).value();
}

void check_text(const Writer& writer, const std::string& name, const std::string& suffix) {
  Result<Module> module = writer.write({kernel_of(name)}, wide_machine());
  REQUIRE(module.ok());
  CHECK(module.value().language == writer.language());
  REQUIRE(module.value().entries.size() == 1);
  testing::check_golden("writers/" + name + suffix, module.value().text);
  CHECK(writer.write({kernel_of(name)}, wide_machine()).value().text == module.value().text);
}

TEST_CASE("LLVM text of kernels") {
  for (const char* name : {"softmax", "pointwise", "columns", "gather"})
    check_text(LlvmWriter(), name, ".ll");
}

TEST_CASE("C++ text of kernels") {
  for (const char* name : {"softmax", "pointwise", "columns", "gather"})
    check_text(CppWriter(), name, ".cpp");
}

TEST_CASE("without masked memory the tail is scalar code") {
  mapping::Traits traits = wide_machine();
  traits.masked_memory = false;
  Result<Module> module = LlvmWriter().write({kernel_of("columns")}, traits);
  REQUIRE(module.ok());
  CHECK(module.value().text.find("llvm.masked") == std::string::npos);
  CHECK(module.value().text.find("fadd contract float") != std::string::npos);
}

TEST_CASE("without the instruction bf16 is rounded by integer arithmetic") {
  mapping::Traits traits = wide_machine();
  traits.bf16_convert = false;
  Result<Module> module = LlvmWriter().write({kernel_of("pointwise")}, traits);
  REQUIRE(module.ok());
  CHECK(module.value().text.find("fptrunc") == std::string::npos);
  CHECK(module.value().text.find("32767") != std::string::npos);
}

TEST_CASE("a dtype that code has no form for is unsupported") {
  loops::Kernel kernel = kernel_of("columns");
  for (loops::Buffer& buffer : kernel.buffers) buffer.dtype = ir::DType::kF8E5M2;
  LlvmWriter llvm;
  CppWriter cpp;
  for (const Writer* writer :
       {static_cast<const Writer*>(&llvm), static_cast<const Writer*>(&cpp)}) {
    Result<Module> module = writer->write({kernel}, wide_machine());
    REQUIRE(!module.ok());
    CHECK(module.error().kind == ErrorKind::kUnsupported);
    CHECK(module.error().code == "writers.dtype");
  }
}

TEST_CASE("names of several kernels share one module") {
  loops::Kernel first = kernel_of("softmax");
  loops::Kernel second = kernel_of("softmax");
  second.name = "softmax_again";
  Result<Module> module = LlvmWriter().write({first, second}, wide_machine());
  REQUIRE(module.ok());
  CHECK(module.value().entries == std::vector<std::string>{"softmax", "softmax_again"});
  CHECK(module.value().externals.empty());
}

TEST_CASE("functions of our own are found by name") {
  CHECK(math_function_address("triptych_erfinv") != nullptr);
  CHECK(math_function_address("triptych_digammaf") != nullptr);
  CHECK(math_function_address("erf") == nullptr);
}

TEST_CASE("the host's traits are plausible") {
  mapping::Traits traits = mapping::host_traits();
  CHECK((traits.vector_bytes == 16 || traits.vector_bytes == 32 || traits.vector_bytes == 64));
  CHECK(traits.l1_bytes >= 4 << 10);
  CHECK(traits.l2_bytes >= traits.l1_bytes);
}

}  // namespace
}  // namespace triptych::writers
