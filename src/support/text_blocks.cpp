#include "support/text_blocks.h"

#include <algorithm>

namespace triptych {
namespace {

std::string_view keyword_of(std::string_view line, std::span<const std::string_view> keywords) {
  for (const std::string_view keyword : keywords) {
    if (line.starts_with(keyword) && line.substr(keyword.size()).starts_with(' ')) return keyword;
  }
  return {};
}

bool is_empty(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos || line[begin] == '#';
}

}  // namespace

std::vector<TextBlock> split_blocks(std::string_view text,
                                    std::span<const std::string_view> keywords) {
  std::vector<TextBlock> blocks;
  std::size_t lines = 0;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end, ++lines) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    const std::string_view keyword = keyword_of(line, keywords);
    if (keyword.empty() && blocks.empty() && is_empty(line)) continue;
    if (!keyword.empty() || blocks.empty()) blocks.push_back({keyword, std::string(lines, '\n')});
    blocks.back().text += line;
  }
  return blocks;
}

}  // namespace triptych
