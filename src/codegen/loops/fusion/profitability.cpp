#include "codegen/loops/fusion/profitability.h"

#include <algorithm>

namespace triptych::loops {
namespace {

// A value written and read back costs about 8 bytes of traffic an element, some 80 additions of a
// vector unit's time from memory, 8 from a near cache: below that, computing again is the better
// deal.
constexpr int kCheapOperations = 4;
constexpr int kCheapLoads = 2;
constexpr int kMaxInstructions = 400;  // of one kernel: compile time grows with it
constexpr std::size_t kMaxBuffers = 40;

int count_instructions(const Group& group) {
  int count = 0;
  for_each_statement(group.kernel.body, [&](const Statement&) { ++count; });
  return count;
}

}  // namespace

Costs pointwise_costs(const Group& group) {
  Costs costs;
  for_each_statement(group.kernel.body, [&](const Statement& statement) {
    const auto* instruction = std::get_if<Instruction>(&statement.data);
    if (instruction == nullptr) return;
    ++costs.instructions;
    if (instruction->op == ScalarOp::kLoad) {
      ++costs.loads;
      costs.load_bytes += ir::dtype_bytes(instruction->dtype);
    } else {
      costs.operations += info(instruction->op).cost;
    }
  });
  return costs;
}

Profitability::Profitability(const ir::Graph& graph, const mapping::Traits& traits)
    : graph_(graph), traits_(traits) {
  for (const ir::SymbolInfo& symbol : graph.symbols()) hints_[symbol.name] = symbol.hint;
}

double Profitability::evaluate(const SymExpr& e) const {
  if (e.is_constant()) return static_cast<double>(e.constant());
  const auto value = e.evaluate([&](Symbol symbol) -> std::optional<std::int64_t> {
    const auto found = hints_.find(symbol);
    return found == hints_.end() ? std::optional<std::int64_t>(64) : found->second;
  });
  return static_cast<double>(value.value_or(1));
}

double Profitability::bytes(ValueId value) const {
  const ir::TensorType& type = graph_.tensor(value);
  double result = ir::dtype_bytes(type.dtype);
  for (const SymExpr& size : type.sizes) result *= evaluate(size);
  return result;
}

bool Profitability::cheap(const Group& group) const {
  if (!group.pointwise) return false;
  const Costs costs = pointwise_costs(group);
  return costs.operations <= kCheapOperations && costs.loads <= kCheapLoads;
}

bool Profitability::free(const Group& group) const {
  if (!group.pointwise) return false;
  const Costs costs = pointwise_costs(group);
  return costs.loads == 0 && costs.operations <= 4 * kCheapOperations;
}

double Profitability::recompute_factor(Group& host, ValueId value) const {
  double factor = 0;
  for (const Site& site : load_sites(host.kernel, host.find(value))) {
    const std::vector<Dim> dims = site.loop_dims(site.index());
    if (dims.size() != site.loops.size()) return 1e9;
    double repeated = 1;
    bool inner = true;  // still among the innermost loops, out of which it will be hoisted
    for (std::size_t i = dims.size(); i-- > 0;) {
      const bool uniform = dims[i].stride == SymExpr(0);
      inner = inner && uniform;
      if (uniform && !inner) repeated *= evaluate(dims[i].extent);
    }
    factor += repeated;
  }
  return factor;
}

std::string Profitability::too_large(const Group& a, const Group& b, std::size_t buffers) const {
  if (buffers > kMaxBuffers) return "too many buffers for one kernel";
  // Counting scalars ever made is an upper bound that costs nothing.
  if (a.kernel.num_scalars + b.kernel.num_scalars <= kMaxInstructions) return {};
  if (count_instructions(a) + count_instructions(b) > kMaxInstructions)
    return "too many instructions for one kernel";
  return {};
}

}  // namespace triptych::loops
