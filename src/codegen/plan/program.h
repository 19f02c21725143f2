// A Program: a flat list of steps over numbered slots, independent of torch. Slot i < num_inputs is
// the graph's input i. The runtime executes it over tensors.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "codegen/loops/kernel.h"
#include "ir/graph.h"

namespace triptych::plan {

using ir::Symbol;
using ir::SymExpr;
using SlotId = Index<struct SlotTag>;

// Where a slot's memory comes from.
struct Slot {
  enum class Storage : std::uint8_t {
    kInput,     // the caller's
    kConstant,  // graph constant `index`
    kArena,     // at byte `arena_offset` of the program's arena
    kOutput,    // allocated apart, returned to the user
    kExternal,  // whatever the external call returned
    kView,      // as_strided view of `base` by type
    kScalar,    // a symbolic integer, not a tensor
  };
  Storage storage = Storage::kArena;
  ir::TensorType type;   // sizes, strides, offset may be symbolic
  SymExpr arena_offset;  // bytes, multiple of 64
  SymExpr bytes;
  SlotId base;              // kView
  std::uint32_t index = 0;  // kInput, kConstant
  SymExpr scalar;           // kScalar
  std::string name;         // the graph value
};

struct LaunchStep {
  std::uint32_t kernel = 0;  // into Program::kernels
  std::vector<SlotId>
      buffers;  // one per non-local kernel buffer, in order; data pointer + storage_offset
  std::vector<SymExpr> symbols;  // values of Kernel::symbols
};
struct ExternalStep {
  const ir::Target* target = nullptr;
  std::vector<ir::Argument> args;  // ValueId inside means SlotId of the same number
  std::vector<SlotId> results;
  bool out_variant = false;  // write into the results' planned memory through the op's out form
  const ir::Target* out_target = nullptr;
};
struct FreeStep {
  std::vector<SlotId> slots;
};  // external results no longer needed
using Step = std::variant<LaunchStep, ExternalStep, FreeStep>;

struct Program {
  std::vector<ir::SymbolInfo> symbols;
  // Where each symbol's value is read at call time: input `input`, dimension `dim`; dim -1: input
  // is a SymInt. kSize: the size; kStride: the stride.
  struct SymbolSource {
    Symbol symbol;
    std::uint32_t input = 0;
    int dim = 0;
    enum class Kind : std::uint8_t { kSize, kStride, kOffset, kScalar } kind = Kind::kSize;
  };
  std::vector<SymbolSource> symbol_sources;
  std::vector<ir::Input> inputs;
  std::vector<ir::SymGuard> guards;
  IndexVector<SlotId, Slot> slots;
  std::vector<loops::Kernel> kernels;  // mapped; distinct structural keys
  std::vector<Step> steps;
  std::vector<ir::Output> outputs;  // Output::value names a SlotId of the same number
  // kFresh outputs that would show an input, a constant or an earlier output: returned as copies.
  std::vector<bool> copied_outputs;
  std::vector<ir::Mutation> mutations;
  std::vector<bool> direct_mutations;  // done by the kernel that makes the contents
  std::vector<ir::Constant> constants;
  SymExpr arena_bytes;
  SymExpr bytes_without_reuse;  // what the arena would be with every block apart
};

std::string print(const Program& program);  // text form, for people and goldens

}  // namespace triptych::plan
