#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
std::span<const NamedRule> pooling_rules() { return {}; }
}  // namespace triptych::normalize
