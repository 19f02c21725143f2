// Regions whose captures are put together by hand, for the tests of the region runtime.
#pragma once

#include <nanobind/nanobind.h>

namespace triptych::capture {

void bind_regions(nanobind::module_& module);

}  // namespace triptych::capture
