// Activations, each as its formula.
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>

#include "normalize/decompositions/families.h"
#include "normalize/decompositions/numerics.h"

namespace triptych::normalize {
namespace {

// x * sigmoid(x)
at::Tensor silu(const at::Tensor& self) {
  const at::Tensor x = upcast(self);
  return to_dtype(at::mul(x, at::sigmoid(x)), self.scalar_type());
}

}  // namespace

std::vector<NamedDecomposition> activation_decompositions() {
  return {
      decomposition("silu", silu),
  };
}

}  // namespace triptych::normalize
