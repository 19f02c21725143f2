// One list of named decompositions per family of ops; decomposition.cpp joins them.
#pragma once

#include <string_view>
#include <vector>

#include <ATen/core/boxing/KernelFunction.h>

namespace triptych::normalize {

struct NamedDecomposition {
  std::string_view name;
  c10::KernelFunction kernel;
};

template <class Function>
NamedDecomposition decomposition(std::string_view name, Function* function) {
  return {name, c10::KernelFunction::makeFromUnboxedRuntimeFunction(function)};
}

std::vector<NamedDecomposition> activation_decompositions();
std::vector<NamedDecomposition> factory_decompositions();
std::vector<NamedDecomposition> indexing_decompositions();
std::vector<NamedDecomposition> loss_decompositions();
std::vector<NamedDecomposition> matmul_decompositions();
std::vector<NamedDecomposition> norm_decompositions();
std::vector<NamedDecomposition> pointwise_decompositions();
std::vector<NamedDecomposition> reduction_decompositions();
std::vector<NamedDecomposition> view_decompositions();

}  // namespace triptych::normalize
