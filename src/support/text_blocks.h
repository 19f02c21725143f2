// A text of several parts: a part begins at each line that starts, without a blank, with one of the
// given words, and ends where the next one begins.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triptych {

struct TextBlock {
  std::string_view keyword;  // empty: text in front of the first keyword
  // As written, behind as many line ends as stand above it: errors then count lines of the whole.
  std::string text;
};

// Lines that hold nothing but a comment in front of the first part are left out.
std::vector<TextBlock> split_blocks(std::string_view text,
                                    std::span<const std::string_view> keywords);

}  // namespace triptych
