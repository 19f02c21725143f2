// A captured graph, node by node, to a Python object that builds it.
#pragma once

#include <nanobind/nanobind.h>

#include "capture/guards/guard_program.h"
#include "capture/region/capture_result.h"

namespace triptych::bindings {

// Calls the methods of triptych.capture.graph.GraphBuilder. Raises what they raise.
void emit_graph(const capture::CaptureResult& captured, const capture::GuardProgram& guards,
                nanobind::handle builder);

}  // namespace triptych::bindings
