// Rules of up- and downsampling and of sampled grids.
#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

void add_resized(RuleContext& ctx, const Sizes& spatial) {
  const at::Tensor& input = ctx.tensor(0);
  TORCH_CHECK(input.dim() == static_cast<int64_t>(spatial.size()) + 2,
              "It is expected input_size equals to ", spatial.size() + 2, ", but got size ",
              input.dim());
  Sizes sizes = sizes_of(input);
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    TORCH_CHECK(spatial[i] > 0 && sizes[2 + i] > 0,
                "Input and output sizes should be greater than 0, but got input (size ",
                input.sym_sizes(), ") output (size ", SizesRef(spatial), ")");
    sizes[2 + i] = spatial[i];
  }
  ctx.add_result(fresh_in_format(std::move(sizes), input.scalar_type(), input.device(),
                                 input.suggest_memory_format()));
}

// (input, output_size, ...)
void upsample(RuleContext& ctx) { add_resized(ctx, as_sizes(ctx.arg(1))); }

// The .vec overloads: output_size, or scale_factors that give floor(size * factor).
void upsample_vec(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const c10::IValue& scales = named(ctx, "scale_factors");
  if (scales.isNone()) return add_resized(ctx, as_sizes(ctx.arg(1)));
  TORCH_CHECK(ctx.arg(1).isNone(), "Must specify exactly one of output_size and scale_factors");
  const auto factors = scales.toDoubleVector();
  Sizes spatial;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const c10::SymInt& size = input.sym_size(2 + static_cast<int64_t>(i));
    const auto whole = static_cast<int64_t>(factors[i]);
    if (static_cast<double>(whole) == factors[i]) {
      spatial.push_back(size * whole);  // stays symbolic
    } else {
      const double exact = static_cast<double>(size.guard_int(__FILE__, __LINE__)) * factors[i];
      spatial.push_back(static_cast<int64_t>(exact));
    }
  }
  add_resized(ctx, spatial);
}

// (input, grid, ...): the grid's sizes without its last one, after batch and channels.
void grid_sampler(RuleContext& ctx) {
  const at::Tensor& input = ctx.tensor(0);
  const at::Tensor& grid = ctx.tensor(1);
  TORCH_CHECK(equal(input.sym_size(0), grid.sym_size(0)),
              "grid_sampler(): expected grid and input to have same batch size, but got input "
              "with sizes ",
              input.sym_sizes(), " and grid with sizes ", grid.sym_sizes());
  Sizes sizes{input.sym_size(0), input.sym_size(1)};
  for (int64_t d = 1; d + 1 < grid.dim(); ++d) sizes.push_back(grid.sym_size(d));
  ctx.add_result(fresh_like(std::move(sizes), input));
}

// aten.affine_grid_generator: [N, H, W, 2] or [N, D, H, W, 3].
void affine_grid(RuleContext& ctx) {
  const Sizes size = as_sizes(ctx.arg(1));
  Sizes sizes{size[0]};
  for (std::size_t i = 2; i < size.size(); ++i) sizes.push_back(size[i]);
  sizes.push_back(static_cast<int64_t>(size.size()) - 2);
  ctx.add_result(fresh_like(std::move(sizes), ctx.tensor(0)));
}

// aten.pixel_shuffle and its inverse: contiguous.
void pixel_shuffle(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const int64_t factor = ctx.arg(1).toInt();
  TORCH_CHECK(self.dim() >= 3, short_name(ctx),
              " expects input to have at least 3 dimensions, but got input with ", self.dim(),
              " dimension(s)");
  Sizes sizes = sizes_of(self);
  const std::size_t n = sizes.size();
  if (short_name(ctx) == "pixel_shuffle") {
    TORCH_CHECK(factor > 0, "pixel_shuffle expects a positive upscale_factor, but got ", factor);
    TORCH_CHECK(is_value(sizes[n - 3] % (factor * factor), 0),
                "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                "square of upscale_factor, but input.size(-3)=",
                sizes[n - 3], " is not divisible by ", factor * factor);
    sizes[n - 3] = sizes[n - 3] / (factor * factor);
    sizes[n - 2] *= factor;
    sizes[n - 1] *= factor;
  } else {
    sizes[n - 3] *= factor * factor;
    sizes[n - 2] = sizes[n - 2] / factor;
    sizes[n - 1] = sizes[n - 1] / factor;
  }
  if (factor == 1 && is_value(self.sym_numel(), 0) && short_name(ctx) == "pixel_unshuffle") {
    ResultMeta result = fresh_like(std::move(sizes), self);
    result.strides = strides_like(self, at::MemoryFormat::Preserve);
    ctx.add_result(std::move(result));
    return;
  }
  ctx.add_result(fresh_in_format(
      std::move(sizes), self.scalar_type(), self.device(),
      self.dim() == 4 ? self.suggest_memory_format() : at::MemoryFormat::Contiguous));
}

constexpr NamedRule kRules[] = {
    {"affine_grid", affine_grid}, {"grid_sampler", grid_sampler}, {"pixel_shuffle", pixel_shuffle},
    {"upsample", upsample},       {"upsample_vec", upsample_vec},
};

}  // namespace

std::span<const NamedRule> resize_rules() { return kRules; }

}  // namespace triptych::normalize
