// Are the inputs of a call what the program was made for?
#pragma once

#include <span>

#include "runtime/frame.h"

namespace triptych::runtime {

// A tensor, or an integer when `tensor` is null. Tensors are borrowed for the call.
struct InputRef {
  const at::Tensor* tensor = nullptr;
  std::int64_t integer = 0;
};

// As the reference executor takes them.
std::vector<c10::IValue> values_of(std::span<const InputRef> inputs);

// Number, kind, dtype, device, rank; then the values of the program's symbols. Throws ProgramError
// (user).
void read_symbols(const Layout& layout, std::span<const InputRef> inputs,
                  std::vector<std::int64_t>& symbols);
// Sizes and strides against the program's, with the frame's symbols bound. Strides of dimensions of
// size 1 are not looked at. Throws ProgramError (user).
void check_shapes(const Layout& layout, const Frame& frame, std::span<const InputRef> inputs);
// A program that mutates an input must not be given other inputs that share its memory. Throws
// ProgramError (unsupported, "runtime.overlap"), so that the caller can run eagerly. An inference
// tensor that may not be written raises what eager raises.
void check_written_inputs(const Layout& layout, std::span<const InputRef> inputs);

}  // namespace triptych::runtime
