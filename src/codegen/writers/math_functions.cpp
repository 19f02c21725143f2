#include "codegen/writers/math_functions.h"

#include "codegen/loops/special_functions.h"

namespace triptych::writers {

namespace {

template <double function(double)>
float in_double(float x) {
  return static_cast<float>(function(x));
}

template <class Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

const void* math_function_address(std::string_view name) {
  if (name == "triptych_erfinv") return address(&loops::erfinv);
  if (name == "triptych_erfinvf") return address(&in_double<loops::erfinv>);
  if (name == "triptych_digamma") return address(&loops::digamma);
  if (name == "triptych_digammaf") return address(&in_double<loops::digamma>);
  if (name == "triptych_i0") return address(&loops::bessel_i0);
  if (name == "triptych_i0f") return address(&in_double<loops::bessel_i0>);
  return nullptr;
}

}  // namespace triptych::writers
