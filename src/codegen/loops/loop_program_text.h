// The text form of loop programs: the graph, then the items in order.
//
//   loop program
//   graph g normalized {
//     ...
//   }
//   value %partial: f32[8]                      a value that mapping added
//
//   external %mm = aten.mm.default  # op table: external
//
//   kernel k0_add(in %mm: f32[512], out %add: f32[512]) from (add) { ... }
//   bind %mm, %add                              only where buffers are not called as their values
//
//   view %v of %add
#pragma once

#include "codegen/loops/loop_program.h"
#include "ir/graph_text.h"

namespace triptych::loops {

// `print` (loop_program.h) is the whole; this the items alone, for people who have the graph.
std::string print_items(const LoopProgram& program);
Result<LoopProgram> parse_loop_program(std::string_view text,
                                       const ir::ConstantBytes& constants = {});
bool equal(const LoopProgram& a, const LoopProgram& b);
// The rules of loop_program.h and of the kernels; all violations are collected.
std::vector<Error> verify(const LoopProgram& program);

}  // namespace triptych::loops
