#include "codegen/toolchains/module_parts.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace triptych::toolchains {

namespace {

struct Function {
  std::string_view name, text;
};

struct Pieces {
  std::vector<Function> entries, helpers;
  std::string others;
};

// The name in `define ... @name(...`, or nothing.
std::string_view defined_name(std::string_view line) {
  if (!line.starts_with("define ")) return {};
  const std::size_t at = line.find('@');
  const std::size_t end = line.find('(', at);
  if (at == std::string_view::npos || end == std::string_view::npos) return {};
  return line.substr(at + 1, end - at - 1);
}

Pieces cut(std::string_view text, const std::vector<std::string>& entries) {
  const std::set<std::string_view> names(entries.begin(), entries.end());
  Pieces pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    end = end == std::string_view::npos ? text.size() : end + 1;
    const std::string_view name = defined_name(text.substr(at, end - at));
    const std::size_t last = text.find("\n}\n", at);
    if (!name.empty() && last != std::string_view::npos) {
      end = last + 3;
      auto& functions = names.contains(name) ? pieces.entries : pieces.helpers;
      functions.push_back({name, text.substr(at, end - at)});
    } else {
      pieces.others += text.substr(at, end - at);
    }
    at = end;
  }
  return pieces;
}

bool names(const std::string& text, std::string_view function) {
  return text.find("@" + std::string(function) + "(") != std::string::npos;
}

// Helpers that the part calls, and those that they call.
void add_helpers(std::string& part, std::vector<Function> helpers) {
  for (bool found = true; found;) {
    found = false;
    std::erase_if(helpers, [&](const Function& helper) {
      if (!names(part, helper.name)) return false;
      part += helper.text;
      return found = true;
    });
  }
}

}  // namespace

std::vector<std::string> module_parts(const std::string& text,
                                      const std::vector<std::string>& entries, std::size_t count) {
  Pieces pieces = cut(text, entries);
  count = std::min(count, pieces.entries.size());
  if (count <= 1) return {text};
  // The longest first, each to the part that is shortest so far.
  std::stable_sort(
      pieces.entries.begin(), pieces.entries.end(),
      [](const Function& a, const Function& b) { return a.text.size() > b.text.size(); });
  std::vector<std::string> parts(count);
  for (const Function& function : pieces.entries) {
    auto shortest = std::min_element(
        parts.begin(), parts.end(),
        [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
    *shortest += function.text;
  }
  for (std::string& part : parts) {
    add_helpers(part, pieces.helpers);
    part += pieces.others;
  }
  return parts;
}

}  // namespace triptych::toolchains
