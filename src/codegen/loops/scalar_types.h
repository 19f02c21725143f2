// Result dtypes of scalar instructions: what the text form leaves out and the verifier demands.
#pragma once

#include <optional>
#include <span>

#include "codegen/loops/kernel.h"

namespace triptych::loops {

// The dtype that the arguments imply; nullopt for kConstant, kCast and kBitcast, which must state
// it.
std::optional<DType> implied_dtype(ScalarOp op, std::span<const DType> args,
                                   std::optional<DType> buffer = std::nullopt);

// A 16-bit float, which kernels load and store but compute with in f32.
inline bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// op(a, b) == op(b, a), NaN payloads aside.
bool is_commutative(ScalarOp op);

// Dtype of the `which`-th result of a reduction whose accumulator is `accumulator`.
DType reduction_result_dtype(ReduceOp op, DType accumulator, std::size_t which);

// The "v7" symbol of a scalar used as an index, and back.
Symbol scalar_symbol(ScalarId id);
std::optional<ScalarId> scalar_of_symbol(Symbol symbol);

}  // namespace triptych::loops
