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

}  // namespace triptych::normalize
