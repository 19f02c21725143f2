// One list of named rules per family of ops; shape_rule.cpp joins them.
#pragma once

#include <span>
#include <string_view>

#include "normalize/shape_rules/shape_rule.h"

namespace triptych::normalize {

struct NamedRule {
  std::string_view name;
  ShapeRule rule;
};

std::span<const NamedRule> attention_rules();
std::span<const NamedRule> convolution_rules();
std::span<const NamedRule> factory_rules();
std::span<const NamedRule> index_rules();
std::span<const NamedRule> indexing_rules();
std::span<const NamedRule> join_rules();
std::span<const NamedRule> linalg_rules();
std::span<const NamedRule> loss_rules();
std::span<const NamedRule> matmul_rules();
std::span<const NamedRule> norm_rules();
std::span<const NamedRule> pointwise_rules();
std::span<const NamedRule> pooling_rules();
std::span<const NamedRule> random_rules();
std::span<const NamedRule> reduction_rules();
std::span<const NamedRule> resize_rules();
std::span<const NamedRule> rnn_rules();
std::span<const NamedRule> sort_rules();
std::span<const NamedRule> spectral_rules();
std::span<const NamedRule> view_part_rules();
std::span<const NamedRule> view_rules();

}  // namespace triptych::normalize
