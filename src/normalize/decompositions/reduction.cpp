// Reductions over the core ones.
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/any.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/real.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var.h>
#include <ATen/ops/where.h>

#include <limits>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

using Dims = at::OptionalIntArrayRef;

// not any(not x); bytes stay bytes
Tensor inverted_any(const Tensor& none, const Tensor& self) {
  const Tensor out = at::logical_not(none);
  return self.scalar_type() == at::kByte ? to_dtype(out, at::kByte) : out;
}

Tensor all(const Tensor& self) { return inverted_any(at::any(at::logical_not(self)), self); }

Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return inverted_any(at::any(at::logical_not(self), dim, keepdim), self);
}

Tensor all_dims(const Tensor& self, Dims dim, bool keepdim) {
  return inverted_any(at::any(at::logical_not(self), dim, keepdim), self);
}

Tensor sum(const Tensor& self, std::optional<at::ScalarType> dtype) {
  return at::sum(self, at::IntArrayRef(), /*keepdim=*/false, dtype);
}

// NaN counts as 0
Tensor nansum(const Tensor& self, Dims dim, bool keepdim, std::optional<at::ScalarType> dtype) {
  const Tensor numbers =
      is_integral(self) ? self : at::where(at::isnan(self), number_like(self, 0), self);
  return at::sum(numbers, dim, keepdim, dtype);
}

Tensor count_nonzero(const Tensor& self, at::IntArrayRef dim) {
  return at::sum(at::ne(self, 0), dim, /*keepdim=*/false, at::kLong);
}

Tensor count_nonzero_all(const Tensor& self, std::optional<int64_t> dim) {
  return dim ? count_nonzero(self, *dim) : count_nonzero(self, {});
}

Tensor max(const Tensor& self) { return at::amax(self); }
Tensor min(const Tensor& self) { return at::amin(self); }

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (dim) return {at::amin(self, *dim, keepdim), at::amax(self, *dim, keepdim)};
  TORCH_CHECK(self.sym_numel() != 0,
              "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
              "identity.");
  const std::vector<int64_t> ones(keepdim ? self.dim() : 0, 1);
  return {at::amin(self).view(ones), at::amax(self).view(ones)};
}

Tensor std_correction(const Tensor& self, Dims dim, const std::optional<Scalar>& correction,
                      bool keepdim) {
  TORCH_CHECK(!is_integral(self), "std and var only support floating point and complex dtypes");
  const Tensor variance = at::var(upcast(self), dim, correction, keepdim);
  return to_dtype(at::sqrt(variance), c10::toRealValueType(self.scalar_type()));
}

// The recurrence that eager finds both by leaves no number behind an infinity. (It does leave the
// infinity where nothing follows, which is not copied.)
Tensor mean_beside(const Tensor& spread, const Tensor& self, Dims dim, bool keepdim) {
  const Tensor mean = at::mean(self, dim, keepdim);
  if (mean.is_complex() || self.sym_numel() == mean.sym_numel()) return mean;
  return at::where(at::logical_and(at::isinf(mean), at::isnan(spread)), spread, mean);
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Dims dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  TORCH_CHECK(!is_integral(self), "var_mean only support floating point and complex dtypes");
  const Tensor variance = at::var(self, dim, correction, keepdim);
  return {variance, mean_beside(variance, self, dim, keepdim)};
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& self, Dims dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor deviation = std_correction(self, dim, correction, keepdim);
  return {deviation, mean_beside(deviation, self, dim, keepdim)};
}

// m + log(sum(e^(x - m))) with m the largest finite x
Tensor logsumexp(const Tensor& self, at::IntArrayRef dim, bool keepdim) {
  const Tensor given = is_integral(self)
                           ? to_dtype(self, c10::typeMetaToScalarType(c10::get_default_dtype()))
                           : self;
  if (given.sym_numel() == 0) return at::log(at::sum(at::exp(given), dim, keepdim));
  const Tensor x = upcast(given);
  const Tensor largest = at::amax(x.is_complex() ? at::real(x) : x, dim, /*keepdim=*/true);
  const Tensor infinite = at::eq(at::abs(largest), std::numeric_limits<double>::infinity());
  const Tensor finite = at::where(infinite, number_like(largest, 0), largest);
  const Tensor total = at::log(at::sum(at::exp(at::sub(x, finite)), dim, keepdim));
  Tensor back = finite;
  if (!keepdim) back = dim.empty() ? finite.view(at::IntArrayRef()) : at::squeeze(finite, dim);
  return to_dtype(at::add(total, back), given.scalar_type());
}

bool is_order(const Scalar& ord, double value) { return ord.toDouble() == value; }

void check_norm_dtype(at::ScalarType self, at::ScalarType dtype) {
  const char* kind = c10::isComplexType(self) ? "complex" : "real";
  TORCH_CHECK(c10::isFloatingType(dtype) || c10::isComplexType(dtype),
              "linalg.vector_norm: dtype should be floating point or complex, but got ", dtype);
  TORCH_CHECK(c10::isComplexType(self) == c10::isComplexType(dtype),
              "linalg.vector_norm: dtype should be ", kind, " for ", kind, " inputs, but got ",
              dtype);
  TORCH_CHECK(c10::promoteTypes(self, dtype) == dtype,
              "linalg.vector_norm: the dtype of the input (", self,
              ") should be convertible without narrowing to the specified dtype (", dtype, ")");
}

// (sum |x|^p)^(1/p), its limits for 0 and infinities; of complex numbers a real one
Tensor vector_norm(const Tensor& self, const Scalar& ord, Dims dim, bool keepdim,
                   std::optional<at::ScalarType> dtype) {
  TORCH_CHECK(c10::isFloatingType(self.scalar_type()) || self.is_complex(),
              "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
              self.scalar_type());
  const double infinity = std::numeric_limits<double>::infinity();
  if (dtype) check_norm_dtype(self.scalar_type(), *dtype);
  const at::ScalarType out_dtype = c10::toRealValueType(dtype.value_or(self.scalar_type()));
  const Tensor x = upcast(dtype ? to_dtype(self, *dtype) : self);
  const at::IntArrayRef dims = dim.value_or(at::IntArrayRef());
  Tensor out;
  if (is_order(ord, infinity)) {
    out = at::amax(at::abs(x), dims, keepdim);
  } else if (is_order(ord, -infinity)) {
    out = at::amin(at::abs(x), dims, keepdim);
  } else if (is_order(ord, 0)) {
    out = at::sum(at::ne(x, 0), dims, keepdim, out_dtype);
  } else if (is_order(ord, 1)) {
    out = at::sum(at::abs(x), dims, keepdim);
  } else if (is_order(ord, 2) && !x.is_complex()) {
    out = at::sqrt(at::sum(at::mul(x, x), dims, keepdim));
  } else {
    out = at::pow(at::sum(at::pow(at::abs(x), ord), dims, keepdim), 1.0 / ord.toDouble());
  }
  return to_dtype(out, out_dtype);
}

Tensor norm_scalar(const Tensor& self, const Scalar& p) {
  return vector_norm(self, p, std::nullopt, false, std::nullopt);
}

Tensor norm_dim(const Tensor& self, const std::optional<Scalar>& p, at::IntArrayRef dim,
                bool keepdim) {
  return vector_norm(self, p.value_or(2.0), dim, keepdim, std::nullopt);
}

}  // namespace

std::vector<NamedDecomposition> reduction_decompositions() {
  return {
      decomposition("all", all),
      decomposition("all_dim", all_dim),
      decomposition("all_dims", all_dims),
      decomposition("aminmax", aminmax),
      decomposition("count_nonzero", count_nonzero),
      decomposition("count_nonzero_all", count_nonzero_all),
      decomposition("logsumexp", logsumexp),
      decomposition("max", max),
      decomposition("min", min),
      decomposition("nansum", nansum),
      decomposition("norm_dim", norm_dim),
      decomposition("norm_scalar", norm_scalar),
      decomposition("std", std_correction),
      decomposition("std_mean", std_mean),
      decomposition("sum", sum),
      decomposition("var_mean", var_mean),
      decomposition("vector_norm", vector_norm),
  };
}

}  // namespace triptych::normalize
