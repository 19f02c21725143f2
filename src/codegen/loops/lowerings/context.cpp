#include "codegen/loops/lowerings/lowering.h"

namespace triptych::loops {

const ir::Argument* LoweringContext::find_arg(std::string_view name) const {
  if (node.target->schema == nullptr) return nullptr;
  const auto position = node.target->schema->find(name);
  return position && *position < node.args.size() ? &node.args[*position] : nullptr;
}

const ir::Argument& LoweringContext::arg(std::string_view name) const {
  const ir::Argument* found = find_arg(name);
  TRIPTYCH_CHECK(found != nullptr, node.target->name + " has no argument " + std::string(name));
  return *found;
}

bool LoweringContext::given(std::string_view name) const {
  const ir::Argument* found = find_arg(name);
  return found != nullptr && !found->is_none();
}

std::optional<ValueId> LoweringContext::tensor(std::string_view name) const {
  const ir::Argument* found = find_arg(name);
  const ValueId* value = found != nullptr ? found->get_if<ValueId>() : nullptr;
  if (value == nullptr || !std::holds_alternative<ir::TensorType>(graph.value(*value).type))
    return std::nullopt;
  return *value;
}

ValueId LoweringContext::tensor_arg(std::string_view name) const {
  const auto value = tensor(name);
  TRIPTYCH_CHECK(value.has_value(), node.target->name + ": " + std::string(name) + " is a tensor");
  return *value;
}

std::vector<ValueId> LoweringContext::tensor_list(std::string_view name) const {
  std::vector<ValueId> values;
  ir::for_each_value(arg(name), [&](ValueId value) { values.push_back(value); });
  return values;
}

std::int64_t LoweringContext::integer(std::string_view name) const {
  const auto value = arg(name).as_sym_expr();
  TRIPTYCH_CHECK(value && value->as_constant(),
                 node.target->name + ": " + std::string(name) + " is an integer");
  return *value->as_constant();
}

bool LoweringContext::boolean(std::string_view name) const {
  const auto* value = arg(name).get_if<bool>();
  TRIPTYCH_CHECK(value != nullptr, node.target->name + ": " + std::string(name) + " is a bool");
  return *value;
}

double LoweringContext::number(std::string_view name) const {
  const ir::Argument& value = arg(name);
  if (const auto* truth = value.get_if<bool>()) return *truth ? 1 : 0;
  if (const auto* integer = value.get_if<std::int64_t>()) return static_cast<double>(*integer);
  const auto* real = value.get_if<double>();
  TRIPTYCH_CHECK(real != nullptr, node.target->name + ": " + std::string(name) + " is a number");
  return *real;
}

std::vector<std::int64_t> LoweringContext::integers(std::string_view name) const {
  std::vector<std::int64_t> values;
  for (const SymExpr& size : sizes(name)) {
    TRIPTYCH_CHECK(size.is_constant(),
                   node.target->name + ": " + std::string(name) + " is constant");
    values.push_back(size.constant());
  }
  return values;
}

std::vector<SymExpr> LoweringContext::sizes(std::string_view name) const {
  const ir::Argument& value = arg(name);
  if (value.is_none()) return {};
  if (const auto single = value.as_sym_expr()) return {*single};
  const auto* list = value.get_if<ir::ArgumentList>();
  TRIPTYCH_CHECK(list != nullptr,
                 node.target->name + ": " + std::string(name) + " is a list of integers");
  std::vector<SymExpr> sizes;
  for (const ir::Argument& item : list->items) {
    auto size = item.as_sym_expr();
    if (const auto* id = item.get_if<ValueId>()) {
      if (const auto* scalar = std::get_if<ir::ScalarValueType>(&graph.value(*id).type))
        size = scalar->expr;
    }
    TRIPTYCH_CHECK(size.has_value(),
                   node.target->name + ": " + std::string(name) + " holds integers");
    sizes.push_back(*size);
  }
  return sizes;
}

std::optional<std::string_view> LoweringContext::string(std::string_view name) const {
  const ir::Argument* found = find_arg(name);
  const auto* text = found != nullptr ? found->get_if<std::string>() : nullptr;
  return text != nullptr ? std::optional<std::string_view>(*text) : std::nullopt;
}

std::size_t wrap_dim(std::int64_t dim, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank == 0 ? 1 : rank);
  TRIPTYCH_CHECK(dim >= -count && dim < count, "a dim is within the rank");
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

Error not_lowered(std::string message) { return unsupported("lower.case", std::move(message)); }

}  // namespace triptych::loops
