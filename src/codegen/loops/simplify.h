// Exact rewrites of one scalar instruction while a kernel is built.
#pragma once

#include <optional>
#include <span>

#include "codegen/loops/builder.h"

namespace triptych::loops {

// A scalar that equals op(args) bit for bit (NaN payloads aside), when a law of simplify.cpp gives
// one.
std::optional<ScalarId> simplify_instruction(Builder& builder, ScalarOp op, DType dtype,
                                             std::span<const ScalarId> args);

}  // namespace triptych::loops
