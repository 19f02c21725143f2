// Builds one kernel over graph values: loops, scalar instructions (each computed once per scope and
// simplified by the exact laws of simplify.cpp), loads and stores at logical indices, which views
// have turned into index arithmetic over their root's memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/loops/kernel.h"
#include "codegen/loops/loop_program.h"
#include "ir/graph.h"

namespace triptych::loops {

using ir::ValueId;

// Which value's memory each value lies in. A value that is no view, or whose view has another dtype
// or may reach beyond its base's own elements, is its own root.
class ViewRoots {
 public:
  explicit ViewRoots(std::size_t num_values) : roots_(num_values) {}
  ValueId root(ValueId value) const {
    return roots_[value.value].valid() ? roots_[value.value] : value;
  }
  void set(ValueId view, ValueId base) { roots_[view.value] = root(base); }

 private:
  std::vector<ValueId> roots_;
};

// Elements from the data pointer that a tensor of this type may touch: 1 + the largest index; 0
// when empty.
SymExpr element_extent(const ir::TensorType& type);
// sum(index[d] * strides[d])
SymExpr flat_index(std::span<const SymExpr> index, std::span<const SymExpr> strides);
// Drops leading dims and zeroes size-1 dims, so that an index of the broadcast shape reads this
// type.
std::vector<SymExpr> broadcast_index(std::span<const SymExpr> index, const ir::TensorType& type);
bool is_one(const SymExpr& size);

class Builder {
 public:
  Builder(const ir::Graph& graph, const ViewRoots& roots, std::string name);

  // Loops. An extent that is the constant 1 opens none; its index is 0.
  std::vector<SymExpr> open_loops(std::span<const SymExpr> extents);
  SymExpr open_loop(const SymExpr& extent);
  void close_loops(int count = -1);  // -1: all that are open
  int open_count() const { return static_cast<int>(frames_.size()) - 1; }
  struct Reduce {
    ReduceOp op;
    ScalarId input;
  };
  // Closes loops down to `keep` open ones, reducing through each of them; with none to close the
  // inputs are the results. Only reductions with one result may span several loops; kArgMin,
  // kArgMax and kWelford need one.
  std::vector<ScalarId> close_reducing(int keep, std::span<const Reduce> reductions);

  // Memory.
  ScalarId load(ValueId value, std::span<const SymExpr> index);  // in the value's dtype
  ScalarId load_as(ValueId value, std::span<const SymExpr> index, DType dtype);
  void store(ValueId value, std::span<const SymExpr> index,
             ScalarId scalar);  // cast to the value's dtype
  BufferId add_local(std::string name, DType dtype, SymExpr extent);
  ScalarId load_local(BufferId buffer, const SymExpr& index);
  void store_local(BufferId buffer, const SymExpr& index, ScalarId scalar);

  // Scalars.
  ScalarId constant(DType dtype, double value);
  ScalarId constant_int(DType dtype, std::int64_t value);
  ScalarId constant_bool(bool value);
  ScalarId index_value(const SymExpr& expr);  // i64
  ScalarId cast(ScalarId scalar, DType dtype);
  // A cast that is a point of rounding, unlike one that merely stores an intermediate: to a 16-bit
  // float the value passes through its bits, behind which fusion sees no wider one.
  ScalarId rounding_cast(ScalarId scalar, DType dtype);
  ScalarId emit(ScalarOp op, DType dtype, std::span<const ScalarId> args);
  ScalarId unary(ScalarOp op, ScalarId a);
  ScalarId binary(ScalarOp op, ScalarId a, ScalarId b);  // comparisons give bool
  ScalarId select(ScalarId condition, ScalarId if_true, ScalarId if_false);
  void check(ScalarId condition, Check::Code code);
  // An index symbol that stands for an i64 scalar.
  SymExpr index_symbol(ScalarId scalar);

  DType dtype(ScalarId scalar) const { return dtypes_.at(scalar.value); }
  const Instruction* definition(ScalarId scalar) const;  // nullptr for reduction results

  KernelItem finish(std::vector<std::string> origins);

 private:
  struct Frame {
    Loop loop;  // the outermost frame's loop is only its body
  };
  struct Location {
    ValueId root;
    SymExpr index;
  };
  struct FlatIndex {
    std::vector<SymExpr> index, strides;
    SymExpr flat;
  };

  Location locate(ValueId value, std::span<const SymExpr> index);
  const SymExpr& flat(std::span<const SymExpr> index, std::span<const SymExpr> strides);
  BufferId buffer_of(ValueId value, Buffer::Kind kind);
  ScalarId add(Instruction instruction);
  std::optional<ScalarId> find_equal(const Instruction& instruction) const;
  std::vector<Statement>& body() { return frames_.back().loop.body; }
  void drop_unused();
  bool sweep(std::vector<Statement>& body);  // whether anything is left
  void order_buffers();
  void collect_symbols();

  const ir::Graph& graph_;
  const ViewRoots& roots_;
  Kernel kernel_;
  std::vector<ValueId> values_;  // per buffer; invalid for locals
  std::vector<Frame> frames_;
  std::vector<DType> dtypes_;
  std::vector<Instruction> definitions_;  // per scalar; args kept for simplification
  std::vector<bool> needed_;  // by index symbols at first, then by what drop_unused keeps
  std::vector<FlatIndex> flat_indices_;  // made so far: operands of one shape share one expression
  int next_loop_ = 0;
};

// The dtype that arithmetic on values of `storage` happens in: f32 for f16 and bf16, else the same.
DType arithmetic_dtype(DType storage);
// Whether kernels can hold values of this dtype.
bool supported_dtype(DType dtype);

}  // namespace triptych::loops
