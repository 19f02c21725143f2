// Lists of integers in messages.
#pragma once

#include <string>

#include <c10/util/ArrayRef.h>

namespace triptych::runtime {

inline std::string list_text(c10::ArrayRef<std::int64_t> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  }
  return text + "]";
}

}  // namespace triptych::runtime
