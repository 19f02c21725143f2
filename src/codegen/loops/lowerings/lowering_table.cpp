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
    Entry{"arange", lower_arange},
    Entry{"argmax", lower_argmax},
    Entry{"argmin", lower_argmin},
    Entry{"as_strided", lower_as_strided},
    Entry{"batch_norm", lower_batch_norm},
    Entry{"batch_norm_inference", lower_batch_norm_inference},
    Entry{"batch_norm_no_stats", lower_batch_norm},
    Entry{"batch_norm_training", lower_batch_norm},
    Entry{"cat", lower_cat},
    Entry{"constant_pad", lower_constant_pad},
    Entry{"copy", lower_copy},
    Entry{"copy_from", lower_copy_from},
    Entry{"deviation", lower_deviation},
    Entry{"embedding", lower_embedding},
    Entry{"flip", lower_flip},
    Entry{"full", lower_full},
    Entry{"gather", lower_gather},
    Entry{"group_norm", lower_group_norm},
    Entry{"index", lower_index},
    Entry{"index_select", lower_index_select},
    Entry{"layer_norm", lower_layer_norm},
    Entry{"log_softmax", lower_log_softmax},
    Entry{"logsumexp", lower_logsumexp},
    Entry{"max_dim", lower_max_dim},
    Entry{"mean", lower_mean},
    Entry{"min_dim", lower_min_dim},
    Entry{"ones", lower_ones},
    Entry{"prod", lower_prod},
    Entry{"reflection_pad", lower_reflection_pad},
    Entry{"repeat", lower_repeat},
    Entry{"replication_pad", lower_replication_pad},
    Entry{"rms_norm", lower_rms_norm},
    Entry{"roll", lower_roll},
    Entry{"safe_softmax", lower_safe_softmax},
    Entry{"select_scatter", lower_select_scatter},
    Entry{"slice_scatter", lower_slice_scatter},
    Entry{"softmax", lower_softmax},
    Entry{"stack", lower_stack},
    Entry{"sum", lower_sum},
    Entry{"tril", lower_tril},
    Entry{"triu", lower_triu},
    Entry{"upsample_bilinear2d", lower_upsample_bilinear2d},
    Entry{"upsample_nearest", lower_upsample_nearest},
    Entry{"upsample_nearest_exact", lower_upsample_nearest_exact},
    Entry{"variance", lower_variance},
    Entry{"vector_norm", lower_vector_norm},
    Entry{"view", lower_view},
    Entry{"zeros", lower_zeros},
};

constexpr bool sorted() {
  return std::is_sorted(kEntries.begin(), kEntries.end(),
                        [](const Entry& a, const Entry& b) { return a.name < b.name; });
}
static_assert(sorted(), "found by binary search");

}  // namespace

Lowering find_lowering(std::string_view name) {
  const auto found =
      std::lower_bound(kEntries.begin(), kEntries.end(), name,
                       [](const Entry& entry, std::string_view key) { return entry.name < key; });
  return found != kEntries.end() && found->name == name ? found->lowering : nullptr;
}

}  // namespace triptych::loops
