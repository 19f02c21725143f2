// Rules of factories and copies.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <torch/version.h>

#include <cmath>

#include "normalize/shape_rules/elementwise.h"
#include "normalize/shape_rules/families.h"

namespace triptych::normalize {
namespace {

at::MemoryFormat format_or(const RuleContext& ctx, at::MemoryFormat otherwise) {
  const c10::IValue& v = named(ctx, "memory_format");
  return v.isNone() ? otherwise : v.toMemoryFormat();
}

at::ScalarType number_dtype(const c10::IValue& v) {
  if (v.isBool() || v.isSymBool()) return at::kBool;
  if (v.isInt() || v.isSymInt()) return at::kLong;
  if (v.isComplexDouble()) return c10::toComplexType(default_dtype());
  return default_dtype();
}

void check_sizes(const Sizes& sizes) {
  for (const c10::SymInt& size : sizes) {
    TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ",
                SizesRef(sizes));
  }
}

void factory(RuleContext& ctx, at::ScalarType otherwise, Sizes sizes) {
  check_sizes(sizes);
  ctx.add_result(fresh_in_format(std::move(sizes), dtype_or(named(ctx, "dtype"), otherwise),
                                 device_or(named(ctx, "device"), at::kCPU),
                                 format_or(ctx, at::MemoryFormat::Contiguous)));
}

// The first argument is the size; default dtype: empty, zeros, ones, rand, randn, ...
void factory_sized(RuleContext& ctx) { factory(ctx, default_dtype(), as_sizes(ctx.arg(0))); }

void normal(RuleContext& ctx) { factory(ctx, default_dtype(), as_sizes(named(ctx, "size"))); }

void full(RuleContext& ctx) { factory(ctx, number_dtype(ctx.arg(1)), as_sizes(ctx.arg(0))); }

void scalar_tensor(RuleContext& ctx) { factory(ctx, default_dtype(), {}); }

// aten.randint.*: int64 of the `size` argument.
void factory_integers(RuleContext& ctx) { factory(ctx, at::kLong, as_sizes(named(ctx, "size"))); }

void randperm(RuleContext& ctx) { factory(ctx, at::kLong, {as_symint(ctx.arg(0))}); }

void eye(RuleContext& ctx) {
  const c10::SymInt rows = as_symint(ctx.arg(0));
  const c10::IValue& columns = named(ctx, "m");
  factory(ctx, default_dtype(), {rows, columns.isNone() ? rows : as_symint(columns)});
}

// aten.linspace, logspace.
void linspace(RuleContext& ctx) {
  const bool complex = ctx.arg(0).isComplexDouble() || ctx.arg(1).isComplexDouble();
  const at::ScalarType dtype = complex ? c10::toComplexType(default_dtype()) : default_dtype();
  const c10::SymInt steps = as_symint(named(ctx, "steps"));
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  factory(ctx, dtype, {steps});
}

void empty_strided(RuleContext& ctx) {
  ResultMeta result;
  result.sizes = as_sizes(ctx.arg(0));
  result.strides = as_sizes(ctx.arg(1));
  TORCH_CHECK(result.sizes.size() == result.strides.size(), "dimensionality of sizes (",
              result.sizes.size(), ") must match dimensionality of strides (",
              result.strides.size(), ")");
  check_sizes(result.sizes);
  result.dtype = dtype_or(named(ctx, "dtype"), default_dtype());
  result.device = device_or(named(ctx, "device"), at::kCPU);
  ctx.add_result(std::move(result));
}

bool is_integer(const c10::IValue& v) { return v.isInt() || v.isSymInt() || v.isBool(); }

double as_double(const c10::IValue& v) {
  TORCH_CHECK(!v.isComplexDouble() || v.toComplexDouble().imag() == 0,
              "value cannot be converted to type double without overflow");
  if (v.isComplexDouble()) return v.toComplexDouble().real();
  if (v.isBool()) return v.toBool() ? 1 : 0;
  if (v.isDouble()) return v.toDouble();
  if (v.isSymFloat()) return v.toSymFloat().guard_float(__FILE__, __LINE__);
  return static_cast<double>(as_symint(v).guard_int(__FILE__, __LINE__));
}

c10::SymInt as_integer(const c10::IValue& v) {
  if (is_integer(v)) return v.isBool() ? v.toBool() : as_symint(v);
  return static_cast<int64_t>(as_double(v));
}

// Torch 2.14 no longer cuts the floats of an int64 range to integers before it counts.
constexpr bool kCountsInIntegers = TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 14;

// ceil((end - start) / step), in integers where all three are integers and stay so. A result of
// int64 truncates the three first, in some minors of torch.
c10::SymInt arange_length(const c10::IValue& start, const c10::IValue& end, const c10::IValue& step,
                          at::ScalarType dtype) {
  const bool integers = is_integer(start) && is_integer(end) && is_integer(step);
  if (!integers) {
    const double by = as_double(step);
    const double span = as_double(end) - as_double(start);
    TORCH_CHECK(by > 0 || by < 0, "step must be nonzero");
    TORCH_CHECK(std::isfinite(as_double(start)) && std::isfinite(as_double(end)),
                "unsupported range: ", as_double(start), " -> ", as_double(end));
    TORCH_CHECK(by > 0 ? span >= 0 : span <= 0,
                "upper bound and lower bound inconsistent with step sign");
    if (dtype != at::kLong || !kCountsInIntegers) return static_cast<int64_t>(std::ceil(span / by));
    TORCH_CHECK_VALUE(as_integer(step) != 0, "step must be nonzero");
  }
  const c10::SymInt by = as_integer(step);
  const c10::SymInt span = as_integer(end) - as_integer(start);
  TORCH_CHECK(by != 0, "step must be nonzero");
  TORCH_CHECK(by > 0 ? span >= 0 : span <= 0,
              "upper bound and lower bound inconsistent with step sign");
  if (is_value(by, 1)) return span;
  return by > 0 ? (span + by - 1) / by : (span + by + 1) / by;
}

// aten.arange, .start, .start_step.
void arange(RuleContext& ctx) {
  static const c10::IValue zero(int64_t{0});
  static const c10::IValue one(int64_t{1});
  const std::size_t numbers = ctx.num_args() - 4;  // before dtype, layout, device, pin_memory
  const c10::IValue& start = numbers > 1 ? ctx.arg(0) : zero;
  const c10::IValue& end = numbers > 1 ? ctx.arg(1) : ctx.arg(0);
  const c10::IValue& step = numbers > 2 ? ctx.arg(2) : one;
  const bool integers = is_integer(start) && is_integer(end) && is_integer(step);
  const at::ScalarType own = integers ? at::kLong : default_dtype();
  const at::ScalarType dtype = dtype_or(named(ctx, "dtype"), own);
  TORCH_CHECK_NOT_IMPLEMENTED(dtype != at::kBool, "\"arange_cpu\" not implemented for 'Bool'");
  factory(ctx, own, {arange_length(start, end, step, dtype)});
}

ResultMeta like(const RuleContext& ctx, at::MemoryFormat format) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta result;
  result.sizes = sizes_of(self);
  result.strides = strides_like(self, format);
  result.dtype = dtype_or(named(ctx, "dtype"), self.scalar_type());
  result.device = device_or(named(ctx, "device"), self.device());
  return result;
}

// empty_like, zeros_like, rand_like, clone, _to_copy: layout preserved unless a format is asked
// for.
void copy_like(RuleContext& ctx) {
  ctx.add_result(like(ctx, format_or(ctx, at::MemoryFormat::Preserve)));
}

void contiguous_like(RuleContext& ctx) { ctx.add_result(like(ctx, at::MemoryFormat::Contiguous)); }

// new_empty, new_zeros, new_full, ...: the size is the second argument.
void factory_new(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  Sizes sizes = as_sizes(ctx.arg(1));
  check_sizes(sizes);
  ctx.add_result(fresh(std::move(sizes), dtype_or(named(ctx, "dtype"), self.scalar_type()),
                       device_or(named(ctx, "device"), self.device())));
}

void new_empty_strided(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  ResultMeta result = like(ctx, at::MemoryFormat::Contiguous);
  result.sizes = as_sizes(ctx.arg(1));
  result.strides = as_sizes(ctx.arg(2));
  result.device = device_or(named(ctx, "device"), self.device());
  ctx.add_result(std::move(result));
}

// select_scatter, slice_scatter, ...: a clone with self's very strides, where `src` stands in the
// view that the op of this name would give.
void scatter_into(RuleContext& ctx, const char* view_op, const char* overload,
                  std::string_view view_rule) {
  const auto view_schema = c10::Dispatcher::singleton().findSchemaOrThrow(view_op, overload);
  std::vector<c10::IValue> args;
  for (std::size_t i = 0; i < ctx.num_args(); ++i) {
    if (i != 1) args.push_back(ctx.arg(i));
  }
  RuleContext view(view_schema.schema(), args);
  find_shape_rule(view_rule)(view);
  const SizesRef written = view.results()[0].sizes;
  TORCH_CHECK(equal(ctx.tensor(1).sym_sizes(), written),
              "expected src to have a size equal to the slice of self. src size = ",
              ctx.tensor(1).sym_sizes(), ", slice size = ", written);
  // Eager lays out anew what overlaps itself.
  const bool overlaps = at::has_internal_overlap(ctx.tensor(0)) == at::MemOverlap::Yes;
  ResultMeta result = like(ctx, at::MemoryFormat::Preserve);
  if (!overlaps) result.strides = strides_of(ctx.tensor(0));
  ctx.add_result(std::move(result));
}

void as_strided_scatter(RuleContext& ctx) {
  scatter_into(ctx, "aten::as_strided", "", "as_strided");
}
void diagonal_scatter(RuleContext& ctx) { scatter_into(ctx, "aten::diagonal", "", "diagonal"); }
void select_scatter(RuleContext& ctx) { scatter_into(ctx, "aten::select", "int", "select"); }
void slice_scatter(RuleContext& ctx) { scatter_into(ctx, "aten::slice", "Tensor", "slice"); }

// aten.empty_permuted: dense in the given order of dimensions.
void empty_permuted(RuleContext& ctx) {
  ResultMeta result;
  result.sizes = as_sizes(ctx.arg(0));
  const Dims order = as_ints(ctx.arg(1));
  TORCH_CHECK(order.size() == result.sizes.size(),
              "Number of dimensions in size does not match the length of the physical_layout; "
              "i.e. len(size) = ",
              result.sizes.size(), " is not equal to len(physical_layout) = ", order.size());
  Sizes physical;
  for (const int64_t dim : order) physical.push_back(result.sizes[dim]);
  const Sizes strides = contiguous_strides(physical);
  result.strides.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) result.strides[order[i]] = strides[i];
  result.dtype = dtype_or(named(ctx, "dtype"), default_dtype());
  result.device = device_or(named(ctx, "device"), at::kCPU);
  ctx.add_result(std::move(result));
}

// aten.copy: self's metadata, the source broadcasts to it.
void copy(RuleContext& ctx) {
  const at::Tensor& self = ctx.tensor(0);
  const Sizes sizes = broadcast(self.sym_sizes(), ctx.tensor(1).sym_sizes());
  TORCH_CHECK(equal(sizes, self.sym_sizes()), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", SizesRef(sizes));
  ResultMeta result = like(ctx, at::MemoryFormat::Preserve);
  result.strides = strides_of(self);
  ctx.add_result(std::move(result));
}

constexpr NamedRule kRules[] = {
    {"arange", arange},
    {"as_strided_scatter", as_strided_scatter},
    {"contiguous_like", contiguous_like},
    {"copy", copy},
    {"copy_like", copy_like},
    {"diagonal_scatter", diagonal_scatter},
    {"empty_permuted", empty_permuted},
    {"empty_strided", empty_strided},
    {"eye", eye},
    {"factory_integers", factory_integers},
    {"factory_new", factory_new},
    {"factory_sized", factory_sized},
    {"full", full},
    {"linspace", linspace},
    {"new_empty_strided", new_empty_strided},
    {"normal", normal},
    {"randperm", randperm},
    {"scalar_tensor", scalar_tensor},
    {"select_scatter", select_scatter},
    {"slice_scatter", slice_scatter},
};

}  // namespace

std::span<const NamedRule> factory_rules() { return kRules; }

}  // namespace triptych::normalize
