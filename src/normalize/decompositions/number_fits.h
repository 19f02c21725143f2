// What eager checks where it reads a tensor of one element as a number.
#pragma once

#include <ATen/core/Tensor.h>

namespace triptych::normalize {

// Ends the program at run time, in eager's words, where converting the number to `dtype` would
// overflow. Records nothing where no number of its own dtype could.
void assert_fits(const at::Tensor& number, at::ScalarType dtype);

}  // namespace triptych::normalize
