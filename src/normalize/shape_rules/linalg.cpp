// Rules of matrix factorisations, as LAPACK leaves them: each matrix column by column.
#include "normalize/shape_rules/families.h"
#include "normalize/shape_rules/strides.h"

namespace triptych::normalize {
namespace {

const at::Tensor& matrices(const RuleContext& ctx, const char* name) {
  const at::Tensor& a = ctx.tensor(0);
  TORCH_CHECK(a.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  TORCH_CHECK(a.is_floating_point() || a.is_complex(), name,
              ": Expected a floating point or complex tensor as input. Got ", a.scalar_type());
  return a;
}

// A batch of rows x columns matrices.
ResultMeta by_columns(const at::Tensor& a, const c10::SymInt& rows, const c10::SymInt& columns) {
  Sizes sizes = sizes_of(a);
  sizes.end()[-2] = columns;
  sizes.end()[-1] = rows;
  ResultMeta result = fresh_like(std::move(sizes), a);
  std::swap(result.sizes.end()[-2], result.sizes.end()[-1]);
  std::swap(result.strides.end()[-2], result.strides.end()[-1]);
  return result;
}

// (A, full_matrices, compute_uv) -> U, S, Vh
void svd(RuleContext& ctx) {
  const at::Tensor& a = matrices(ctx, "linalg.svd");
  const c10::SymInt rows = a.sym_size(-2);
  const c10::SymInt columns = a.sym_size(-1);
  const c10::SymInt rank = rows.min(columns);
  const bool full = as_bool(ctx.arg(1));
  const bool vectors = as_bool(ctx.arg(2));
  Sizes values = sizes_of(a);
  values.pop_back();
  values.back() = rank;
  ctx.add_result(vectors ? by_columns(a, rows, full ? rows : rank) : fresh_like({0}, a));
  ctx.add_result(fresh(std::move(values), c10::toRealValueType(a.scalar_type()), a.device()));
  ctx.add_result(vectors ? by_columns(a, full ? columns : rank, columns) : fresh_like({0}, a));
}

constexpr NamedRule kRules[] = {
    {"svd", svd},
};

}  // namespace

std::span<const NamedRule> linalg_rules() { return kRules; }

}  // namespace triptych::normalize
