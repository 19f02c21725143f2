#include "runtime/symbol_binding.h"

#include "runtime/errors.h"

namespace triptych::runtime {

SymbolValues bind_symbols(const ir::Graph& graph, const std::vector<c10::IValue>& inputs) {
  SymbolValues symbols;
  const auto bind = [&](const ir::SymExpr& expr, std::int64_t value) {
    if (expr.is_symbol()) symbols.emplace(expr.as_symbol(), value);
  };
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ir::ValueType& type = graph.value(graph.inputs()[i].value).type;
    if (const auto* scalar = std::get_if<ir::ScalarValueType>(&type)) {
      if (scalar->expr && inputs[i].isInt()) bind(*scalar->expr, inputs[i].toInt());
    } else if (const auto* tensor = std::get_if<ir::TensorType>(&type);
               tensor && inputs[i].isTensor()) {
      const at::Tensor& found = inputs[i].toTensor();
      for (std::size_t d = 0; d < tensor->sizes.size(); ++d) {
        bind(tensor->sizes[d], found.sizes()[d]);
      }
      for (std::size_t d = 0; d < tensor->strides.size(); ++d) {
        bind(tensor->strides[d], found.strides()[d]);
      }
      bind(tensor->storage_offset, found.storage_offset());
    }
  }
  return symbols;
}

std::int64_t evaluate(const ir::SymExpr& expr, const SymbolValues& symbols) {
  if (expr.is_constant()) return expr.constant();
  const auto value = expr.evaluate([&](ir::Symbol symbol) -> std::optional<std::int64_t> {
    const auto found = symbols.find(symbol);
    if (found == symbols.end()) return std::nullopt;
    return found->second;
  });
  if (!value)
    fail(internal_error("runtime.unbound_symbol", "no input gives the value of " + expr.str()));
  return *value;
}

}  // namespace triptych::runtime
