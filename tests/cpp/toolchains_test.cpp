// How a module is cut for several threads; what the parts compile to is tests/python's.
#include <doctest/doctest.h>

#include <string>

#include "codegen/toolchains/module_parts.h"

namespace triptych::toolchains {
namespace {

const std::string kModule =
    "define void @first(ptr %x) #0 {\nentry:\n  ret void\n}\n\n"
    "define void @second(ptr %x) #0 {\nentry:\n  call void @helper()\n  ret void\n}\n\n"
    "define void @third(ptr %x) #0 {\nentry:\n  br label %a\na:\n  ret void\n}\n\n"
    "define internal void @helper() #0 {\nentry:\n  ret void\n}\n\n"
    "declare float @llvm.sqrt.f32(float)\n\nattributes #0 = { nounwind }\n";

bool defines(const std::string& text, const std::string& name) {
  return text.find("@" + name + "(ptr") != std::string::npos;
}

TEST_CASE("one part is the module itself") {
  CHECK(module_parts(kModule, {"first", "second", "third"}, 1) ==
        std::vector<std::string>{kModule});
  CHECK(module_parts(kModule, {"first"}, 4) == std::vector<std::string>{kModule});
}

TEST_CASE("every function is in one part, what they share in each that uses it") {
  for (std::size_t count : {2U, 3U, 8U}) {
    const auto parts = module_parts(kModule, {"first", "second", "third"}, count);
    CHECK(parts.size() == std::min<std::size_t>(count, 3));
    for (const std::string name : {"first", "second", "third"}) {
      std::size_t found = 0;
      for (const std::string& part : parts) found += defines(part, name) ? 1 : 0;
      CHECK(found == 1);
    }
    for (const std::string& part : parts) {
      CHECK(part.find("declare float @llvm.sqrt.f32(float)") != std::string::npos);
      CHECK(part.find("attributes #0") != std::string::npos);
      CHECK((part.find("define internal void @helper") != std::string::npos) ==
            defines(part, "second"));
    }
  }
}

TEST_CASE("a function that is no entry of the module goes with those that name it") {
  const auto parts = module_parts(kModule, {"first", "third"}, 2);
  REQUIRE(parts.size() == 2);
  for (const std::string& part : parts) CHECK_FALSE(defines(part, "second"));
}

}  // namespace
}  // namespace triptych::toolchains
