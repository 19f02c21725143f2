// The reference executor: a normalized graph, node by node, every op by its own ATen kernel.
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

#include "ir/graph.h"

namespace triptych::runtime {

// `inputs`: a tensor or an integer for each graph input. Returns a value per output that is not
// hidden, made as the signature says; mutations are copied back. Throws what the ops throw.
std::vector<c10::IValue> run_graph(const ir::Graph& graph, const std::vector<c10::IValue>& inputs);

// Only computes the nodes: inputs stay as they are, results are dropped. Throws what the ops throw.
void compute_graph(const ir::Graph& graph, const std::vector<c10::IValue>& inputs);

}  // namespace triptych::runtime
