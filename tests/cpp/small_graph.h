// Builds small core ATen graphs for tests, with eager's shapes and strides for the few ops it
// knows, and runs loop programs on the reference interpreter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/loops/loop_program.h"
#include "ir/graph.h"

namespace triptych::testing {

using ir::DType;
using ir::ValueId;
using Sizes = std::vector<ir::SymExpr>;
using Ints = std::vector<std::int64_t>;

class SmallGraph {
 public:
  ir::Graph graph;

  ValueId input(const Sizes& sizes, DType dtype = DType::kF32, const Sizes& strides = {});
  ValueId unary(std::string_view op, ValueId x);
  ValueId binary(std::string_view op, ValueId a, ValueId b);  // broadcasts
  ValueId scaled(ValueId x, double factor);                   // aten.mul.Scalar
  ValueId reduce(std::string_view op, ValueId x, const Ints& dims, bool keepdim);
  ValueId softmax(ValueId x, std::int64_t dim);
  ValueId layer_norm(ValueId x, ValueId weight, ValueId bias);  // over the last dim
  ValueId cast(ValueId x, DType dtype);
  ValueId cat(const std::vector<ValueId>& xs, std::int64_t dim);
  ValueId mm(ValueId a, ValueId b);
  ValueId external(std::string_view op, std::map<std::string, ir::Argument> args,
                   const Sizes& sizes);
  ValueId clone(ValueId x);                     // to contiguous memory
  ValueId view(ValueId x, const Sizes& sizes);  // of a contiguous value
  ValueId permute(ValueId x, const Ints& dims);
  ValueId slice(ValueId x, std::int64_t dim, const ir::SymExpr& start, const ir::SymExpr& end);
  ValueId expand(ValueId x, const Sizes& sizes);
  void output(ValueId x);

  ir::SymExpr symbol(std::string_view name,
                     std::int64_t hint);  // a size known only when the program runs
  Sizes sizes(ValueId x) const;
  Ints known_sizes(ValueId x) const;  // with hints for symbols
  bool contiguous(ValueId x) const;

 private:
  ValueId call(std::string_view op, std::map<std::string, ir::Argument> args, ir::TensorType type);
  ir::TensorType type(const Sizes& sizes, DType dtype) const;  // contiguous
  ValueId as_view(std::string_view op, std::map<std::string, ir::Argument> args,
                  ir::TensorType type);
};

// The value of an expression over the graph's symbols, which are their hints.
std::int64_t evaluate(const ir::Graph& graph, const ir::SymExpr& e);

// Bytes per value that owns memory; inputs are filled by `fill_inputs`.
using Memory = std::map<ValueId, std::vector<char>>;
Memory fill_inputs(const ir::Graph& graph, std::uint32_t seed);
// Runs kernels (and aten.mm by three loops) in order. Throws on what it does not know.
void run_program(const loops::LoopProgram& program, Memory& memory);
// The elements of an output in logical order.
std::vector<double> read_value(const loops::LoopProgram& program, const Memory& memory,
                               ValueId value);

std::size_t count_kernels(const loops::LoopProgram& program);
// Verified, and its text round-trips: the first complaint or an empty string.
std::string verify_all(const loops::LoopProgram& program);
std::string print_kernels(const loops::LoopProgram& program);

}  // namespace triptych::testing
