// The exception table of a code object, decoded.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace triptych::capture {

// Units [start, end) are covered: an exception there pops the stack down to `depth` values, pushes
// the raising unit's index if `push_unit`, then the exception, and goes on at `target`. All
// positions are code units.
struct Handler {
  std::int32_t start;
  std::int32_t end;
  std::int32_t target;
  std::int32_t depth;
  bool push_unit;

  bool operator==(const Handler&) const = default;
};

class ExceptionTable {
 public:
  // `bytes` is `co_exceptiontable`.
  explicit ExceptionTable(std::string_view bytes);

  const Handler* find(std::int32_t unit) const;  // null: none covers it
  const std::vector<Handler>& handlers() const { return handlers_; }

 private:
  std::vector<Handler> handlers_;  // by start; they do not overlap
};

}  // namespace triptych::capture
