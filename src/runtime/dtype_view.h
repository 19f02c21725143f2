// A view of a tensor's memory as elements of another dtype.
#pragma once

#include <ATen/core/Tensor.h>

namespace triptych::runtime {

// `distance` is from the base's first element, in bytes. Raises what eager raises where the view
// would not start at a whole element.
at::Tensor view_of_dtype(const at::Tensor& base, c10::ScalarType dtype, at::IntArrayRef sizes,
                         at::IntArrayRef strides, std::int64_t distance);

}  // namespace triptych::runtime
