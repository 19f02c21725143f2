// The location table of a code object: which source range a code unit comes from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace triptych::capture {

// Lines count from 1, columns from 0 in bytes; -1 where the compiler left one out.
struct Location {
  std::int32_t line = -1;
  std::int32_t end_line = -1;
  std::int32_t column = -1;
  std::int32_t end_column = -1;

  bool operator==(const Location&) const = default;
};

class LocationTable {
 public:
  // `bytes` is `co_linetable`, `first_line` is `co_firstlineno`.
  LocationTable(std::string_view bytes, std::int32_t first_line);

  Location at(std::int32_t unit) const;

 private:
  struct Run {
    std::int32_t end;  // first unit after the run
    Location location;
  };
  std::vector<Run> runs_;
};

}  // namespace triptych::capture
