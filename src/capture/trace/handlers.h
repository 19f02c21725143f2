// Which opcodes the tracer does in its own way. All others work on values that the program has
// already.
#pragma once

#include <array>

#include "capture/trace/tracer.h"

namespace triptych::capture {

struct Tracer::Handlers {
  using Table = std::array<Handler, kOpCount>;
  static const Table& table();

 private:
  static void add_variables(Table& table);
  static void add_values(Table& table);
  static void add_unsupported(Table& table);
};

}  // namespace triptych::capture
