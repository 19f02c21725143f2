#include "golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

namespace triptych::testing {
namespace {

std::filesystem::path golden_path(std::string_view path) {
  return std::filesystem::path(TRIPTYCH_GOLDEN_FOLDER) / path;
}

bool blessing() {
  const char* bless = std::getenv("TRIPTYCH_BLESS");
  return bless != nullptr && std::string_view(bless) == "1";
}

}  // namespace

std::string golden_folder() { return TRIPTYCH_GOLDEN_FOLDER; }

std::string read_golden(std::string_view path) {
  std::ifstream file(golden_path(path), std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "no such golden file: ", golden_path(path).string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_golden(std::string_view path, const std::string& actual) {
  if (blessing()) {
    std::filesystem::create_directories(golden_path(path).parent_path());
    std::ofstream(golden_path(path), std::ios::binary) << actual;
    return;
  }
  CHECK_MESSAGE(read_golden(path) == actual, "tests/golden/", std::string(path),
                " differs; rewrite it with TRIPTYCH_BLESS=1 if the change is meant");
}

}  // namespace triptych::testing
