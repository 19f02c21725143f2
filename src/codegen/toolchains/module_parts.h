// Cuts a module of LLVM IR into modules of about equal length, for threads that compile side by
// side.
#pragma once

#include <string>
#include <vector>

namespace triptych::toolchains {

// At most `count` modules, each with some of the functions `entries`, the other functions that
// those call, and everything else of the text (declarations, attributes). The text is a writer's: a
// function ends at a line "}".
std::vector<std::string> module_parts(const std::string& text,
                                      const std::vector<std::string>& entries, std::size_t count);

}  // namespace triptych::toolchains
