// LLVM IR text to machine code in this process, by LLVM's code generation alone: no pass runs, the
// writer's text is meant for it as it stands. No lock is held and no Python runs meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/result.h"

namespace triptych::toolchains {

struct LlvmTarget {
  std::string cpu, features;  // as LLVM calls them; empty: this machine's
  int level = 1;              // of code generation
};

// Machine code; unloaded when this object goes.
class LlvmCode {
 public:
  virtual ~LlvmCode() = default;
  std::map<std::string, std::uint64_t> addresses;  // of the entries
};

class LlvmCompiler {
 public:
  virtual ~LlvmCompiler() = default;
  // `imports`: addresses of functions that the text declares; others are looked up in the process.
  // Up to `threads` threads compile functions of `entries` side by side. The code holds on to the
  // compiler.
  virtual Result<std::shared_ptr<LlvmCode>> compile(
      const std::string& text, const std::vector<std::string>& entries,
      const std::map<std::string, std::uint64_t>& imports, int threads) = 0;
};

// The process' compiler for a target, made when first asked for. `library`: the file of llvmlite's
// LLVM; the first one given is used.
Result<std::shared_ptr<LlvmCompiler>> llvm_compiler(const std::string& library,
                                                    const LlvmTarget& target);

}  // namespace triptych::toolchains
