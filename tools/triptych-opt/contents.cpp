#include "contents.h"

#include <array>
#include <iostream>
#include <iterator>

#include "codegen/loops/loop_program_text.h"
#include "codegen/plan/program_text.h"
#include "ir/graph_file.h"
#include "ir/verifier.h"
#include "ops/op_table.h"
#include "support/text_blocks.h"

namespace triptych::opt {
namespace {

Result<Contents> parse_kernels(const std::vector<TextBlock>& blocks) {
  std::vector<loops::Kernel> kernels;
  for (const TextBlock& block : blocks) {
    TRIPTYCH_TRY(loops::Kernel kernel, loops::parse_kernel(block.text));
    kernels.push_back(std::move(kernel));
  }
  return Contents(std::move(kernels));
}

bool any(const std::vector<TextBlock>& blocks, std::string_view keyword) {
  for (const TextBlock& block : blocks) {
    if (block.keyword == keyword) return true;
  }
  return false;
}

// The words that begin a line tell which level a text is of.
Result<Contents> parse(const std::string& text, const ir::ConstantBytes& constants) {
  static constexpr std::array<std::string_view, 4> kKeywords = {"loop", "program", "kernel",
                                                                "graph"};
  const std::vector<TextBlock> blocks = split_blocks(text, kKeywords);
  if (any(blocks, "loop")) {
    TRIPTYCH_TRY(loops::LoopProgram program, loops::parse_loop_program(text, constants));
    return Contents(std::move(program));
  }
  if (any(blocks, "program")) {
    TRIPTYCH_TRY(plan::Program program, plan::parse_program(text, constants));
    return Contents(std::move(program));
  }
  if (any(blocks, "kernel")) return parse_kernels(blocks);
  TRIPTYCH_TRY(ir::Graph graph, ops::parse_graph(text, constants));
  return Contents(std::move(graph));
}

struct Level {
  std::string_view operator()(const ir::Graph&) const { return "a graph"; }
  std::string_view operator()(const std::vector<loops::Kernel>&) const { return "kernels"; }
  std::string_view operator()(const loops::LoopProgram&) const { return "a loop program"; }
  std::string_view operator()(const plan::Program&) const { return "a program"; }
};

}  // namespace

Result<Contents> read_text_file(const std::string& path) {
  if (path == "-") return parse(std::string(std::istreambuf_iterator<char>(std::cin), {}), {});
  TRIPTYCH_TRY(const std::string text, ir::read_text(path));
  TRIPTYCH_TRY(const ir::ConstantBytes constants, ir::read_constants(path));
  return parse(text, constants);
}

std::string_view level_name(const Contents& contents) { return std::visit(Level{}, contents); }

std::vector<Error> verify(const Contents& contents) {
  if (const auto* graph = std::get_if<ir::Graph>(&contents)) return ir::verify(*graph);
  if (const auto* program = std::get_if<loops::LoopProgram>(&contents))
    return loops::verify(*program);
  if (const auto* program = std::get_if<plan::Program>(&contents)) return plan::verify(*program);
  std::vector<Error> errors;
  for (const loops::Kernel& kernel : std::get<std::vector<loops::Kernel>>(contents)) {
    for (Error& error : loops::verify_kernel(kernel)) errors.push_back(std::move(error));
  }
  return errors;
}

std::string print(const Contents& contents) {
  if (const auto* graph = std::get_if<ir::Graph>(&contents)) return ir::print(*graph);
  if (const auto* program = std::get_if<loops::LoopProgram>(&contents))
    return loops::print(*program);
  if (const auto* program = std::get_if<plan::Program>(&contents)) return plan::print(*program);
  std::string text;
  for (const loops::Kernel& kernel : std::get<std::vector<loops::Kernel>>(contents)) {
    text += loops::print(kernel);
  }
  return text;
}

}  // namespace triptych::opt
