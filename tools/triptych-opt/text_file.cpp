#include "text_file.h"

#include <iostream>
#include <sstream>

#include "ir/graph_file.h"
#include "ir/verifier.h"
#include "ops/op_table.h"
#include "support/scanner.h"

namespace triptych::opt {
namespace {

constexpr std::string_view kKernelStart = "\nkernel ";

// Kernel texts follow each other; each begins a line with the word "kernel".
Result<Contents> parse_kernels(const std::string& text) {
  std::vector<loops::Kernel> kernels;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find(kKernelStart, begin);
    end = end == std::string::npos ? text.size() : end + 1;
    TRIPTYCH_TRY(loops::Kernel kernel, loops::parse_kernel(text.substr(begin, end - begin)));
    kernels.push_back(std::move(kernel));
    begin = end;
  }
  return Contents(std::move(kernels));
}

std::string without_leading_comments(const std::string& text) {
  Scanner scanner(text, "text");
  while (scanner.peek() == '#') scanner.rest_of_line();
  return text.substr(scanner.position());
}

}  // namespace

Result<Contents> read_text_file(const std::string& path) {
  const auto resolve = [](std::string_view name) { return ops::find_target(name); };
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    TRIPTYCH_TRY(text, ir::read_text(path));
  }
  text = without_leading_comments(text);
  Scanner scanner(text, "text");
  if (scanner.next_is("kernel")) return parse_kernels(text);
  if (path == "-") {
    TRIPTYCH_TRY(ir::Graph graph, ops::parse_graph(text));
    return Contents(std::move(graph));
  }
  TRIPTYCH_TRY(ir::Graph graph, ir::load_graph(path, resolve));
  return Contents(std::move(graph));
}

std::vector<Error> verify(const Contents& contents) {
  if (const auto* graph = std::get_if<ir::Graph>(&contents)) return ir::verify(*graph);
  std::vector<Error> errors;
  for (const loops::Kernel& kernel : std::get<std::vector<loops::Kernel>>(contents)) {
    for (Error& error : loops::verify_kernel(kernel)) errors.push_back(std::move(error));
  }
  return errors;
}

std::string print(const Contents& contents) {
  if (const auto* graph = std::get_if<ir::Graph>(&contents)) return ir::print(*graph);
  std::string text;
  for (const loops::Kernel& kernel : std::get<std::vector<loops::Kernel>>(contents)) {
    text += loops::print(kernel);
  }
  return text;
}

}  // namespace triptych::opt
