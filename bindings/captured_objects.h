// What a capture found, as Python data for `triptych.capture`: tuples, lists and dicts.
#pragma once

#include <nanobind/nanobind.h>

#include "capture/region/capture_result.h"

namespace triptych::bindings {

// {inputs: [(name, is_parameter, example)], nodes: [(is_method, target, args, kwargs, file, line,
// module path, example)], outputs: [argument]}. An argument is (kind, payload); see
// python/triptych/capture/to_fx.py.
nanobind::dict graph_data(const capture::CaptureResult& result);

}  // namespace triptych::bindings
