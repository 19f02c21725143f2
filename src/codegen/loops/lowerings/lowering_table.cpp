// The `lower` column of the op table, name by name (sorted).
#include <algorithm>
#include <array>

#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
namespace {

struct Entry {
  std::string_view name;
  Lowering lowering;
};

constexpr std::array kEntries = {
    Entry{"all", lower_all},
    Entry{"amax", lower_amax},
    Entry{"amin", lower_amin},
    Entry{"aminmax", lower_aminmax},
    Entry{"any", lower_any},
    Entry{"argmax", lower_argmax},
    Entry{"argmin", lower_argmin},
    Entry{"as_strided", lower_as_strided},
    Entry{"copy", lower_copy},
    Entry{"copy_from", lower_copy_from},
    Entry{"full", lower_full},
    Entry{"group_norm", lower_group_norm},
    Entry{"layer_norm", lower_layer_norm},
    Entry{"log_softmax", lower_log_softmax},
    Entry{"max_dim", lower_max_dim},
    Entry{"mean", lower_mean},
    Entry{"min_dim", lower_min_dim},
    Entry{"prod", lower_prod},
    Entry{"rms_norm", lower_rms_norm},
    Entry{"safe_softmax", lower_safe_softmax},
    Entry{"softmax", lower_softmax},
    Entry{"sum", lower_sum},
    Entry{"view", lower_view},
};

constexpr bool sorted() {
  return std::is_sorted(kEntries.begin(), kEntries.end(),
                        [](const Entry& a, const Entry& b) { return a.name < b.name; });
}
static_assert(sorted(), "found by binary search");

}  // namespace

Lowering find_lowering(std::string_view name) {
  const auto found = std::lower_bound(kEntries.begin(), kEntries.end(), name,
                                      [](const Entry& entry, std::string_view key) { return entry.name < key; });
  return found != kEntries.end() && found->name == name ? found->lowering : nullptr;
}

}  // namespace triptych::loops
