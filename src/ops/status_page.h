// The op table as a page for people: what becomes of each op.
#pragma once

#include <string>

namespace triptych::ops {

// Markdown: one row per op with its status (lowered, decomposed, external) and, for external ones,
// why.
std::string status_page();

}  // namespace triptych::ops
