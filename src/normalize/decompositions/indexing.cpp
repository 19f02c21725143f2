// Ops that move elements, over index, gather, cat and flip.
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/diagonal.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/permute.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <c10/core/WrapDimMinimal.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

using Indices = c10::List<std::optional<Tensor>>;

// The same without the promise that the indices are in range.
Tensor unsafe_index(const Tensor& self, const Indices& indices) { return at::index(self, indices); }

Tensor unsafe_index_put(const Tensor& self, const Indices& indices, const Tensor& values,
                        bool accumulate) {
  return at::index_put(self, indices, values, accumulate);
}

// Rotates along one dimension: the tail, then the head.
Tensor rolled(const Tensor& self, const c10::SymInt& shift, int64_t dim) {
  const c10::SymInt size = self.sym_size(dim);
  if (size == 0) return self;
  c10::SymInt start = (size - shift) % size;
  if (start < 0) start += size;
  if (start == 0) return self;
  return at::cat({self.slice_symint(dim, start, size), self.slice_symint(dim, 0, start)}, dim);
}

Tensor roll(const Tensor& self, c10::SymIntArrayRef shifts, at::IntArrayRef dims) {
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty()) {
    TORCH_CHECK(shifts.size() == 1, "shifts and dimensions must align. shifts: ", shifts.size(),
                ", dims:", dims.size());
    const Tensor flat = rolled(self.reshape({-1}), shifts[0], 0);
    return flat.view_symint(self.sym_sizes()).clone();
  }
  TORCH_CHECK(shifts.size() == dims.size(),
              "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  Tensor out = self;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    out = rolled(out, shifts[i], c10::maybe_wrap_dim(dims[i], self.dim()));
  }
  return out.is_same(self) ? at::clone(self, self.suggest_memory_format()) : out;
}

// A quarter turn is a flip and a transposition.
Tensor rot90(const Tensor& self, int64_t k, at::IntArrayRef dims) {
  TORCH_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  TORCH_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  const int64_t dim0 = c10::maybe_wrap_dim(dims[0], self.dim());
  const int64_t dim1 = c10::maybe_wrap_dim(dims[1], self.dim());
  TORCH_CHECK(dim0 != dim1, "expected rotation dims to be different, but got dim0 = ", dims[0],
              " and dim1 = ", dims[1]);
  const at::MemoryFormat dense = at::MemoryFormat::Contiguous;
  switch (((k % 4) + 4) % 4) {
    case 1:
      return at::flip(self, {dim1}).transpose(dim0, dim1);
    case 2:
      return at::flip(self, {dim0, dim1});
    case 3:
      return at::flip(self, {dim0}).transpose(dim0, dim1);
    default:
      return at::clone(self, dense);
  }
}

Tensor trace(const Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return at::sum(at::diagonal(self));
}

void append(std::vector<c10::SymInt>& sizes, std::initializer_list<c10::SymInt> more) {
  for (const c10::SymInt& size : more) sizes.push_back(size);
}

Tensor pixel_shuffle(const Tensor& self, int64_t factor) {
  TORCH_CHECK(self.dim() >= 3,
              "pixel_shuffle expects input to have at least 3 dimensions, but got input with ",
              self.dim(), " dimension(s)");
  TORCH_CHECK(factor > 0, "pixel_shuffle expects a positive upscale_factor, but got ", factor);
  const c10::SymInt channels = self.sym_size(-3);
  TORCH_CHECK(channels % (factor * factor) == 0,
              "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
              "of upscale_factor, but input.size(-3)=",
              channels, " is not divisible by ", factor * factor);
  // [*, C r r, H, W] -> [*, C, r, r, H, W] -> [*, C, H, r, W, r]
  const int64_t rest = self.dim() - 3;
  std::vector<c10::SymInt> split(self.sym_sizes().begin(), self.sym_sizes().begin() + rest);
  std::vector<c10::SymInt> out = split;
  const c10::SymInt height = self.sym_size(-2);
  const c10::SymInt width = self.sym_size(-1);
  append(split, {channels / (factor * factor), factor, factor, height, width});
  append(out, {channels / (factor * factor), height * factor, width * factor});
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rest; ++i) order.push_back(i);
  for (const int64_t i : {0, 3, 1, 4, 2}) order.push_back(rest + i);
  return self.reshape_symint(split)
      .permute(order)
      .clone(at::MemoryFormat::Contiguous)
      .view_symint(out)
      .contiguous(self.suggest_memory_format());
}

Tensor pixel_unshuffle(const Tensor& self, int64_t factor) {
  TORCH_CHECK(self.dim() >= 3,
              "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ",
              self.dim(), " dimension(s)");
  TORCH_CHECK(factor > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", factor);
  // [*, C, H r, W r] -> [*, C, H, r, W, r] -> [*, C, r, r, H, W]
  const int64_t rest = self.dim() - 3;
  std::vector<c10::SymInt> split(self.sym_sizes().begin(), self.sym_sizes().begin() + rest);
  std::vector<c10::SymInt> out = split;
  const c10::SymInt channels = self.sym_size(-3);
  const c10::SymInt height = self.sym_size(-2) / factor;
  const c10::SymInt width = self.sym_size(-1) / factor;
  append(split, {channels, height, factor, width, factor});
  append(out, {channels * (factor * factor), height, width});
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rest; ++i) order.push_back(i);
  for (const int64_t i : {0, 2, 4, 1, 3}) order.push_back(rest + i);
  return self.reshape_symint(split)
      .permute(order)
      .clone(at::MemoryFormat::Contiguous)
      .view_symint(out)
      .contiguous(self.suggest_memory_format());
}

// [N, g c, *] -> [N, g, c, *] -> [N, c, g, *]
Tensor channel_shuffle(const Tensor& self, c10::SymInt groups) {
  TORCH_CHECK(self.dim() > 2,
              "channel_shuffle expects input with > 2 dims, but got input with sizes ",
              self.sym_sizes());
  const c10::SymInt channels = self.sym_size(1);
  TORCH_CHECK(channels % groups == 0, "Number of channels must be divisible by groups. Got ",
              channels, " channels and ", groups, " groups.");
  std::vector<c10::SymInt> split;
  append(split, {self.sym_size(0), groups, channels / groups});
  for (int64_t d = 2; d < self.dim(); ++d) split.push_back(self.sym_size(d));
  return self.reshape_symint(split)
      .transpose(1, 2)
      .clone(at::MemoryFormat::Contiguous)
      .view_symint(self.sym_sizes())
      .contiguous(self.suggest_memory_format());
}

// Source positions floor((i + shift) scale), the last one at most size - 1.
Tensor nearest_index(const Tensor& like, const c10::SymInt& out, const c10::SymInt& in,
                     std::optional<double> scale, double shift) {
  const auto options = at::TensorOptions().device(like.device());
  if (out == in) return at::arange(0, Scalar(in), 1, options.dtype(at::kLong));
  const double by =
      scale && *scale > 0
          ? 1.0 / *scale
          : static_cast<double>(static_cast<float>(in.guard_int(__FILE__, __LINE__)) /
                                static_cast<float>(out.guard_int(__FILE__, __LINE__)));
  Tensor at_float = at::arange(0, Scalar(out), 1, options.dtype(at::kFloat));
  if (shift != 0) at_float = at::add(at_float, shift);
  const Tensor position = to_dtype(at::floor(at::mul(at_float, by)), at::kLong);
  return at::clamp(position, std::nullopt, Scalar(in - 1));
}

Tensor resampled(const Tensor& input, c10::SymIntArrayRef sizes,
                 at::ArrayRef<std::optional<double>> scales, double shift) {
  const std::size_t dims = sizes.size();
  TORCH_CHECK(input.dim() == static_cast<int64_t>(dims) + 2, "It is expected input_size equals to ",
              dims + 2, ", but got size ", input.dim());
  c10::List<std::optional<Tensor>> indices;
  indices.push_back(std::nullopt);
  indices.push_back(std::nullopt);
  for (std::size_t i = 0; i < dims; ++i) {
    Tensor index = nearest_index(input, sizes[i], input.sym_size(2 + static_cast<int64_t>(i)),
                                 scales[i], shift);
    for (std::size_t after = i + 1; after < dims; ++after) index = index.unsqueeze(-1);
    indices.push_back(index);
  }
  return at::index(input, indices).contiguous(input.suggest_memory_format());
}

using Scale = std::optional<double>;

Tensor upsample_nearest1d(const Tensor& self, c10::SymIntArrayRef size, Scale w) {
  return resampled(self, size, {w}, 0);
}
Tensor upsample_nearest3d(const Tensor& self, c10::SymIntArrayRef size, Scale d, Scale h, Scale w) {
  return resampled(self, size, {d, h, w}, 0);
}
Tensor upsample_nearest_exact1d(const Tensor& self, c10::SymIntArrayRef size, Scale w) {
  return resampled(self, size, {w}, 0.5);
}
Tensor upsample_nearest_exact2d(const Tensor& self, c10::SymIntArrayRef size, Scale h, Scale w) {
  return resampled(self, size, {h, w}, 0.5);
}

// The overloads that core ATen has; both scales are given, or none.
Tensor upsample_nearest2d(const Tensor& self, c10::SymIntArrayRef size, Scale h, Scale w) {
  if (!h || !w)
    return at::upsample_nearest2d_symint(self, at::OptionalSymIntArrayRef(size), std::nullopt);
  const std::array<double, 2> scales{*h, *w};
  return at::upsample_nearest2d_symint(self, std::nullopt, at::ArrayRef<double>(scales));
}
Tensor upsample_bilinear2d(const Tensor& self, c10::SymIntArrayRef size, bool align_corners,
                           Scale h, Scale w) {
  if (!h || !w) {
    return at::upsample_bilinear2d_symint(self, at::OptionalSymIntArrayRef(size), align_corners,
                                          std::nullopt);
  }
  const std::array<double, 2> scales{*h, *w};
  return at::upsample_bilinear2d_symint(self, std::nullopt, align_corners,
                                        at::ArrayRef<double>(scales));
}

}  // namespace

std::vector<NamedDecomposition> indexing_decompositions() {
  return {
      decomposition("channel_shuffle", channel_shuffle),
      decomposition("pixel_shuffle", pixel_shuffle),
      decomposition("pixel_unshuffle", pixel_unshuffle),
      decomposition("roll", roll),
      decomposition("rot90", rot90),
      decomposition("trace", trace),
      decomposition("unsafe_index", unsafe_index),
      decomposition("unsafe_index_put", unsafe_index_put),
      decomposition("upsample_bilinear2d", upsample_bilinear2d),
      decomposition("upsample_nearest1d", upsample_nearest1d),
      decomposition("upsample_nearest2d", upsample_nearest2d),
      decomposition("upsample_nearest3d", upsample_nearest3d),
      decomposition("upsample_nearest_exact1d", upsample_nearest_exact1d),
      decomposition("upsample_nearest_exact2d", upsample_nearest_exact2d),
  };
}

}  // namespace triptych::normalize
