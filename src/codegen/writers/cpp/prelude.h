// The functions that generated C++ uses, as text. Only those used are printed.
#pragma once

#include <set>
#include <string>

namespace triptych::writers::cpp {

// Includes, then the definitions of `names` and of what they use, in a fixed order. Names: see
// prelude.cpp.
std::string prelude(const std::set<std::string>& names);

// Sources of our own, embedded by the build: conversions of 16-bit floats; functions that <cmath>
// lacks.
extern const char* const kFloat16Source;
extern const char* const kSpecialFunctionsSource;

}  // namespace triptych::writers::cpp
