#include "codegen/loops/fusion/legality.h"

#include <algorithm>

namespace triptych::loops {

std::string check_order(const OrderWindow& window) {
  if (window.earliest < window.latest) return {};
  return "L1: another step between the two depends on the first and feeds the second";
}

std::string check_effects(bool has_checks, double from, double to,
                          const std::vector<double>& barriers) {
  if (!has_checks) return {};
  const auto [low, high] = std::minmax(from, to);
  for (double barrier : barriers) {
    if (low < barrier && barrier < high)
      return "L2: a kernel with checks would cross a call with an effect";
  }
  return {};
}

std::string check_covers(const std::vector<Dim>& dims, const SymExpr& elements) {
  const auto sorted = sorted_dims(dims);
  if (!sorted || !is_injective(*sorted)) return "L4: the reader's loops meet an element twice";
  if (iterations(*sorted) != elements) return "L3: the reader does not read the whole value";
  return {};
}

std::string check_no_reload(const Kernel& kernel) {
  std::string reason;
  for_each_statement(kernel.body, [&](const Statement& statement) {
    const auto* load = std::get_if<Instruction>(&statement.data);
    if (load == nullptr || load->op != ScalarOp::kLoad) return;
    const Buffer& buffer = kernel.buffers[load->buffer];
    if (buffer.kind == Buffer::Kind::kOutput) reason = "L5: %" + buffer.name + " is still loaded";
  });
  return reason;
}

SymExpr element_count(const ir::Graph& graph, ValueId value) {
  SymExpr count(1);
  for (const SymExpr& size : graph.tensor(value).sizes) count *= size;
  return count;
}

}  // namespace triptych::loops
