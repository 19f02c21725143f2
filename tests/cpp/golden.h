// Golden tests: the expected text is a file under tests/golden. With TRIPTYCH_BLESS=1 in the
// environment
// (`./dev bless`), files are rewritten instead of compared.
#pragma once

#include <string>
#include <string_view>

namespace triptych::testing {

// Checks `actual` against tests/golden/<path>.
void check_golden(std::string_view path, const std::string& actual);
std::string golden_folder();
std::string read_golden(std::string_view path);

}  // namespace triptych::testing
