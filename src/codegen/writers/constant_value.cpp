#include "codegen/writers/constant_value.h"

namespace triptych::writers {

ConstantValue constant_value(
    ir::DType dtype, const std::variant<std::monostate, bool, std::int64_t, double>& given) {
  if (const auto* truth = std::get_if<bool>(&given)) return {*truth ? 1.0 : 0.0, *truth ? 1 : 0};
  if (const auto* integer = std::get_if<std::int64_t>(&given))
    return {static_cast<double>(*integer), *integer};
  const auto* real = std::get_if<double>(&given);
  if (real == nullptr) return {};
  const bool whole = ir::is_integral(dtype, false);
  return {*real, whole ? static_cast<std::int64_t>(*real) : 0};
}

}  // namespace triptych::writers
