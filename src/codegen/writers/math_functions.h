// Functions of our own that written kernels may call by name, beside those of libm and SLEEF.
#pragma once

#include <string_view>

namespace triptych::writers {

// "triptych_erfinv" (of doubles), "triptych_erfinvf" (of floats), ...; nullptr when there is none.
const void* math_function_address(std::string_view name);

}  // namespace triptych::writers
