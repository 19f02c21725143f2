// Random programs of pointwise ops, reductions, row ops, views, copies and calls, for property
// tests.
#pragma once

#include "small_graph.h"

namespace triptych::testing {

struct RandomGraphOptions {
  int ops = 10;
  bool casts = true;     // through bf16
  bool calls = true;     // aten.mm
  bool symbols = false;  // sizes 4 and 6 are symbols
};
SmallGraph random_graph(std::uint32_t seed, const RandomGraphOptions& options = {});

}  // namespace triptych::testing
