#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
std::span<const NamedRule> convolution_rules() { return {}; }
}  // namespace triptych::normalize
