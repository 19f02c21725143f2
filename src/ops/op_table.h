// The op table: one row per ATen op that Triptych knows, written in table/*.toml, turned into C++
// by generate_op_table.py into the build folder. Everything about an op is a column; no pass keeps
// a list of names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "ir/graph_text.h"
#include "ops/op_enum.h"  // generated: enum class Op : int { kAdd_Tensor, ... }

namespace triptych::ops {

enum class Tag : std::uint32_t {
  kCore = 1 << 0,  // core ATen: may stand in a normalized graph
  kPointwise = 1 << 1,
  kReduction = 1 << 2,
  kView = 1 << 3,    // result aliases its first tensor argument in eager
  kRandom = 1 << 4,  // reads a generator: never moved, merged, duplicated or dropped
  kInplace = 1 << 5,
  kFactory = 1 << 6,
  kDataDependent = 1 << 7,  // output shape or Python value depends on data
  kExternal = 1 << 8,       // always an external call
  kHasOut = 1 << 9,         // a real CPU .out kernel exists: out_schema
  kEffect = 1 << 10,        // must run even when its results are unused
  kKept = 1 << 11,          // stays although not core: its own kernel beats what it decomposes into
  kTried = 1 << 12,         // valid for any sizes: eager is asked at small ones what it refuses
  kDrawsByLayout = 1 << 13,  // random: draws other numbers where memory is contiguous
  kRaises = 1 << 14,  // refuses some numbers of its inputs (pointwise ops: of integers) at a call
};

struct OpInfo {
  Op op;
  std::string_view name;  // "aten.add.Tensor"
  std::string_view schema;
  std::uint32_t tags = 0;
  std::string_view
      shape_rule;  // a function of src/normalize/shape_rules, e.g. "pointwise"; empty: none
  std::string_view decomposition;  // a function of src/normalize/decompositions; empty: none
  std::string_view lowering;       // a function of src/codegen/loops/lowerings, or empty
  std::string_view expression;     // pointwise ops: one line over the schema's argument names
  std::string_view
      dtype_rule;  // pointwise computation dtype: "promote", "int_to_float", "bool", "first", ...
  // Pointwise ops: the arguments, separated by commas, whose numbers eager takes as they are. It
  // rounds others to the dtype of the tensors first.
  std::string_view exact_numbers;
  std::string_view out_schema;   // of the real .out kernel
  std::string_view no_lowering;  // why an empty lowering is right
  bool has(Tag tag) const { return (tags & static_cast<std::uint32_t>(tag)) != 0; }
};

std::span<const OpInfo> all();
const OpInfo& info(Op op);
const OpInfo* find(std::string_view name);  // nullptr when not in the table
const OpInfo* find(const ir::Target& target);
const ir::Target* target(Op op);  // interned with its schema
const ir::Target* find_target(
    std::string_view name);  // of the table or registered; nullptr otherwise
// A custom op's schema, so that text parses. A user error when the op is known with another schema.
Result<const ir::Target*> register_op(std::string_view schema);
// ir::parse_graph with the targets known here.
Result<ir::Graph> parse_graph(std::string_view text, const ir::ConstantBytes& constants = {});

}  // namespace triptych::ops
