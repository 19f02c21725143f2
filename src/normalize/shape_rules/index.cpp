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
    if (index.scalar_type() == at::kBool || index.scalar_type() == at::kByte) {
      throw DataDependentShape(
          "the result of indexing with a mask has a size that its data decide");
    }
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
  const bool neighbours = indexed.empty() || indexed.back() - indexed.front() + 1 ==
                                                 static_cast<int64_t>(indexed.size());
  Dims order;
  if (neighbours) {
    for (std::size_t i = 0; i < indices.tensors.size(); ++i)
      order.push_back(static_cast<int64_t>(i));
    return order;
  }
  order.append(indexed.begin(), indexed.end());
  order.append(kept.begin(), kept.end());
  return order;
}

// self as the kernel reads it: the indexed dimensions give way to the indices' shape, with stride
// 0.
Layout source_layout(const at::Tensor& self, const Indices& indices, std::size_t& first_indexed) {
  Layout source;
  bool placed = false;
  for (const int64_t dim : seen_order(indices)) {
    if (!indices.tensors[dim].defined()) {
      source.sizes.push_back(self.sym_size(dim));
      source.strides.push_back(self.sym_stride(dim));
    } else if (!placed) {
      first_indexed = source.sizes.size();
      source.sizes.append(indices.shape.begin(), indices.shape.end());
      source.strides.resize(source.sizes.size(), 0);
      placed = true;
    }
  }
  return source;
}

// An index tensor in the result's dimensions.
Layout index_layout(const at::Tensor& index, const Indices& indices, std::size_t first,
                    std::size_t rank) {
  Layout layout{Sizes(rank, 1), Sizes(rank, 0)};
  const std::size_t missing = indices.shape.size() - static_cast<std::size_t>(index.dim());
  for (std::size_t i = 0; i < static_cast<std::size_t>(index.dim()); ++i) {
    const std::size_t at = first + missing + i;
    layout.sizes[at] = index.sym_size(static_cast<int64_t>(i));
    layout.strides[at] = index.sym_stride(static_cast<int64_t>(i));
  }
  return layout;
}

void index(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Indices indices = read_indices(self, ctx.arg(1));
  std::size_t first = 0;
  c10::SmallVector<Layout, 4> operands{source_layout(self, indices, first)};
  const Sizes sizes = operands[0].sizes;
  for (const at::Tensor& t : indices.tensors) {
    if (t.defined()) operands.push_back(index_layout(t, indices, first, sizes.size()));
  }
  ResultMeta result = fresh_like(sizes, self);
  if (!is_value(product(sizes), 0) && !is_value(product(sizes), 1)) {
    result.strides = iterator_strides(operands, sizes);
  }
  ctx.add_result(std::move(result));
}

constexpr NamedRule kRules[] = {{"index", index}};

}  // namespace

std::span<const NamedRule> index_rules() { return kRules; }

}  // namespace triptych::normalize
