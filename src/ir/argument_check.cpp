#include "ir/argument_check.h"

namespace triptych::ir {
namespace {

bool is_number(const Argument& argument) {
  return argument.is<bool>() || argument.is<std::int64_t>() || argument.is<double>() ||
         argument.is<std::complex<double>>() || argument.is<SymExpr>();
}

bool is_value_of(const Graph& graph, const Argument& argument, bool tensor) {
  const auto* id = argument.get_if<ValueId>();
  if (id == nullptr || id->value >= graph.num_values()) return false;
  const ValueType& type = graph.value(*id).type;
  if (!tensor) return std::holds_alternative<ScalarValueType>(type);
  return std::holds_alternative<TensorType>(type) || std::holds_alternative<NoneType>(type);
}

bool fits_base(const Graph& graph, const Argument& argument, BaseType base) {
  const bool scalar_value = is_value_of(graph, argument, false);
  const bool integer = argument.is<std::int64_t>() || argument.is<SymExpr>() || argument.is<bool>();
  switch (base) {
    case BaseType::kTensor:
      return is_value_of(graph, argument, true) || scalar_value || is_number(argument);
    case BaseType::kInt:
    case BaseType::kSymInt:
      return integer || scalar_value;
    case BaseType::kFloat:
      return integer || argument.is<double>() || scalar_value;
    case BaseType::kBool:
      return argument.is<bool>() || scalar_value;
    case BaseType::kComplex:
    case BaseType::kScalar:
      return is_number(argument) || scalar_value;
    case BaseType::kStr:
    case BaseType::kDimname:
      return argument.is<std::string>();
    case BaseType::kScalarType:
      return argument.is<DType>();
    case BaseType::kDevice:
      return argument.is<Device>();
    case BaseType::kLayout:
      return argument.is<Layout>();
    case BaseType::kMemoryFormat:
      return argument.is<MemoryFormat>();
    case BaseType::kGenerator:
      return argument.is<Generator>();
    case BaseType::kStorage:
    case BaseType::kStream:
    case BaseType::kOther:
      return true;
  }
  TRIPTYCH_UNREACHABLE("a schema's base type");
}

}  // namespace

bool fits(const Graph& graph, const Argument& argument, const SchemaType& type) {
  if (argument.is_none()) return type.optional || type.base == BaseType::kOther;
  if (!type.list) return fits_base(graph, argument, type.base);
  const auto* list = argument.get_if<ArgumentList>();
  if (list == nullptr) return false;
  for (const Argument& item : list->items) {
    const bool fits_item =
        item.is_none() ? type.optional_element : fits_base(graph, item, type.base);
    if (!fits_item) return false;
  }
  return true;
}

}  // namespace triptych::ir
