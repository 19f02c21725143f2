#include "normalize/input_strides.h"

#include <algorithm>
#include <numeric>

namespace triptych::normalize {

// From the innermost dimension outwards: a stride that equals the product of what lies inside is
// that product, for every size; another one is a number, which the caller's checks of the input
// hold to.
static void follow_sizes(const at::Tensor& real, ResultMeta& meta) {
  std::vector<std::int64_t> order(real.dim());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    if (real.stride(a) != real.stride(b)) return real.stride(a) < real.stride(b);
    return real.size(a) == real.size(b) ? a > b : real.size(a) < real.size(b);
  });
  std::int64_t dense = 1;
  c10::SymInt symbolic = 1;
  for (const std::int64_t d : order) {
    if (real.stride(d) != dense) {
      dense = real.stride(d);
      symbolic = dense;
    }
    meta.strides[d] = symbolic;
    dense *= real.size(d);
    symbolic = symbolic * meta.sizes[d];
  }
}

ResultMeta symbolic_metadata(const at::Tensor& real,
                             const std::vector<std::pair<std::int64_t, std::string>>& symbols,
                             SymbolicShapes& shapes) {
  ResultMeta meta;
  meta.sizes.assign(real.sym_sizes().begin(), real.sym_sizes().end());
  meta.strides.assign(real.sym_strides().begin(), real.sym_strides().end());
  meta.storage_offset = real.sym_storage_offset();
  meta.dtype = real.scalar_type();
  meta.device = real.device();
  bool any = false;
  for (const auto& [dim, name] : symbols) {
    if (real.size(dim) < 2) continue;  // 0 and 1 are specialised
    meta.sizes[dim] = shapes.symbol(name, real.size(dim));
    any = true;
  }
  if (any) follow_sizes(real, meta);
  return meta;
}

}  // namespace triptych::normalize
