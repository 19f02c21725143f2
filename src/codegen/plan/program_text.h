// The text form of programs: the mapped kernels, then slots and steps.
//
//   kernel k0_add(in %x: f32[32], out %t: f32[32]) from (add) { ... }
//   kernel k1_gelu ...
//
//   program {
//     symbol s0 in [2, inf] hint 5
//     guard s0 <= 128 because "the mask"
//     op mylib::step(Tensor x) -> Tensor        schemas of ops outside the op table
//     input    %x: f32[4, 8] = user("x")
//     constant %c: f32[8] = "c"
//     arena    %t: f32[4, 8] at 0, 128 bytes
//     view     %v: f32[8, 4] strides=[1, 8] of %t
//     external %m: f32[4, 6]
//     output   %y: f32[4, 6]
//     scalar   %n: int(2*s0)
//     arena 128 bytes (192 without reuse)
//     symbol s0 = size 0 of %x
//
//     launch k0_add(%x, %t; s0)
//     %m = aten.mm.out(%x, %v) for aten.mm.default
//     free %m
//     copy %t to %x                             "in place copy": a kernel wrote the input itself
//     return %y, copy of %c, input %x, view of input %x as f32[8], view of output 0 as f32[24],
//            same as output 0, literal 2*s0, hidden %t
//   }
#pragma once

#include "codegen/plan/program.h"
#include "ir/graph_text.h"

namespace triptych::plan {

// `print` (program.h) is the whole; this the part without the kernels' bodies.
std::string print_steps(const Program& program);
Result<Program> parse_program(std::string_view text, const ir::ConstantBytes& constants = {});
bool equal(const Program& a, const Program& b);
// Kernels by their own rules; steps read only what exists. All violations are collected.
std::vector<Error> verify(const Program& program);

}  // namespace triptych::plan
