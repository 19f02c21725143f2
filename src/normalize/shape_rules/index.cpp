// The rule of advanced indexing: broadcast index tensors in the place of the indexed dimensions.
#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

struct Indices {
  c10::SmallVector<at::Tensor, 8> tensors;  // one per dimension of self; undefined: kept whole
  Sizes shape;                              // their broadcast shape
};

void check_index_dtype(const at::Tensor& index) {
  const at::ScalarType dtype = index.scalar_type();
  TORCH_CHECK_INDEX(dtype == at::kLong || dtype == at::kInt,
                    "tensors used as indices must be long, int, byte or bool tensors");
}

Indices read_indices(const at::Tensor& self, const c10::IValue& v) {
  Indices indices{as_tensors(v), {}};
  TORCH_CHECK_INDEX(static_cast<int64_t>(indices.tensors.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ",
                    indices.tensors.size(), ")");
  for (const at::Tensor& index : indices.tensors) {
    if (!index.defined()) continue;
    TORCH_CHECK(index.scalar_type() != at::kBool && index.scalar_type() != at::kByte,
                "the result of indexing with a mask has a size that depends on its data");
    check_index_dtype(index);
    indices.shape = broadcast(indices.shape, index.sym_sizes());
  }
  indices.tensors.resize(self.dim());
  return indices;
}

// Dimensions in the order in which the kernel sees them: as they are where the indexed ones are
// neighbours, else the indexed ones first.
Dims seen_order(const Indices& indices) {
  Dims indexed;
  Dims kept;
  for (std::size_t i = 0; i < indices.tensors.size(); ++i) {
    (indices.tensors[i].defined() ? indexed : kept).push_back(static_cast<int64_t>(i));
  }
  const bool neighbours =
      indexed.empty() ||
      indexed.back() - indexed.front() + 1 == static_cast<int64_t>(indexed.size());
  Dims order;
  if (neighbours) {
    for (std::size_t i = 0; i < indices.tensors.size(); ++i) order.push_back(static_cast<int64_t>(i));
    return order;
  }
  order.append(indexed.begin(), indexed.end());
  order.append(kept.begin(), kept.end());
  return order;
}

Sizes indexed_sizes(const at::Tensor& self, const Indices& indices) {
  Sizes sizes;
  bool placed = false;
  for (const int64_t dim : seen_order(indices)) {
    if (!indices.tensors[dim].defined()) {
      sizes.push_back(self.sym_size(dim));
    } else if (!placed) {
      sizes.append(indices.shape.begin(), indices.shape.end());
      placed = true;
    }
  }
  return sizes;
}

void index(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Indices indices = read_indices(self, ctx.arg(1));
  ctx.add_result(fresh_like(indexed_sizes(self, indices), self));
}

constexpr NamedRule kRules[] = {{"index", index}};

}  // namespace

std::span<const NamedRule> index_rules() { return kRules; }

}  // namespace triptych::normalize
