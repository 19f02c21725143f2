// parse(print(x)) == x, and print(parse(print(x))) == print(x): asserted for every form that a test
// meets. Each function returns the first complaint, or an empty string.
#pragma once

#include <string>

#include "codegen/loops/kernel_equal.h"
#include "codegen/loops/loop_program_text.h"

namespace triptych::testing {

template <class Form, class Parse>
std::string round_trip_complaint(const Form& form, const Parse& parse) {
  const std::string text = print(form);
  const auto parsed = parse(text);
  if (!parsed.ok()) return parsed.error().describe() + "\n" + text;
  if (!equal(parsed.value(), form)) return "parses to something else\n" + text;
  if (print(parsed.value()) != text) return "prints differently once parsed\n" + text;
  return {};
}

inline ir::ConstantBytes bytes_of(const std::vector<ir::Constant>& constants) {
  ir::ConstantBytes bytes;
  for (const ir::Constant& constant : constants) bytes.emplace(constant.name, constant.bytes);
  return bytes;
}

inline std::string round_trip_complaint(const loops::Kernel& kernel) {
  return round_trip_complaint(kernel, loops::parse_kernel);
}

inline std::string round_trip_complaint(const loops::LoopProgram& program) {
  const ir::ConstantBytes constants = bytes_of(program.graph.constants());
  return round_trip_complaint(
      program, [&](const std::string& text) { return loops::parse_loop_program(text, constants); });
}

}  // namespace triptych::testing
