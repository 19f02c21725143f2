// A Graph: values, nodes in program order, a signature. One class serves the captured graph (C1)
// and the normalized graph (C2); `level` says which contract it claims, and the verifier holds it
// to that.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/argument.h"
#include "ir/schema.h"
#include "support/index.h"

namespace triptych::ir {

enum class Level : std::uint8_t { kCaptured, kNormalized };

// An operation by its public name. Interned: one Target per name for the process, compared by
// address. ATen and custom ops: "aten.add.Tensor" with a schema. Captured calls:
// "torch.nn.functional.relu".
struct Target {
  std::string name;
  std::shared_ptr<const Schema> schema;  // null for captured calls that are no dispatcher op
  int op = -1;                           // ops::Op as an integer; -1 when not in the op table
};
const Target* intern_target(std::string_view name);
// Sets the schema the first time; a different schema later is an internal error.
const Target* intern_target(std::string_view name, std::shared_ptr<const Schema> schema,
                            int op = -1);
const Target* find_target(std::string_view name);  // nullptr when unknown

struct TensorType {
  DType dtype = DType::kF32;
  Device device;
  std::vector<SymExpr> sizes;
  std::vector<SymExpr> strides;  // in elements, as eager gives them
  SymExpr storage_offset;        // in elements
  bool requires_grad = false;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
struct ScalarValueType {  // a SymInt, SymFloat or SymBool value
  enum class Kind : std::uint8_t { kInt, kFloat, kBool } kind = Kind::kInt;
  std::optional<SymExpr> expr;  // what the integer is, when it is known as an expression
  friend bool operator==(const ScalarValueType&, const ScalarValueType&) = default;
};
struct NoneType {
  friend bool operator==(NoneType, NoneType) = default;
};  // an undefined tensor
struct ObjectType {
  std::string name;
  friend bool operator==(const ObjectType&, const ObjectType&) = default;
};
using ValueType = std::variant<TensorType, ScalarValueType, NoneType, ObjectType>;

struct SourceLocation {
  std::string file;
  int line = 0;
  std::string module_path;  // "transformer.h.0.attn"
  std::string str() const;  // "file:line", empty when unknown
};

struct Value {
  ValueType type;
  NodeId producer;  // invalid: an input or constant
  std::uint32_t result_index = 0;
  std::string name;  // unique in the graph; printed after %
};

struct Node {
  const Target* target = nullptr;
  // Dispatcher ops: every schema argument, in order, defaults filled in. A number where the schema
  // says Tensor is a wrapped number: `x + 1` is aten.add.Tensor(%x, 1, 1), with torch's promotion
  // rules for wrapped numbers.
  std::vector<Argument> args;
  std::vector<std::pair<std::string, Argument>> kwargs;  // captured calls only
  std::vector<ValueId> results;                          // Tensor[] results are flattened
  SourceLocation location;
  std::string origin;  // normalized: name of the captured node it came from
};

struct Input {
  enum class Kind : std::uint8_t { kUser, kParameter, kBuffer, kConstant } kind = Kind::kUser;
  ValueId value;
  std::string name;  // the user's argument name or the state's dotted path
};

// How a result of the call is made from values of the graph.
struct Output {
  enum class Kind : std::uint8_t {
    kFresh,         // `value`, nobody else's memory
    kInput,         // the very object passed as input `index`
    kViewOfInput,   // as_strided view of input `index` (after its mutation) with `view`
    kViewOfOutput,  // as_strided view of output `index`
    kSameAs,        // the same object as output `index`
    kLiteral,       // `literal` (None, numbers, symbolic integers)
  } kind = Kind::kFresh;
  ValueId value;  // also set for views: the value that the view shows
  std::uint32_t index = 0;
  TensorType view;        // sizes, strides, storage_offset, dtype of the view
  bool detached = false;  // kViewOfInput: does not require grad, whatever the input does
  Argument literal;
  // Not returned to the caller: memory that other outputs are views of (kViewOfOutput may name a
  // later, hidden output).
  bool hidden = false;
  friend bool operator==(const Output&, const Output&) = default;
};

struct Mutation {
  enum class Kind : std::uint8_t { kData, kMetadata } kind = Kind::kData;
  std::uint32_t input = 0;  // index into inputs
  ValueId value;            // the new contents; copied back after the body, in this order
  TensorType metadata;      // kMetadata: the input's new sizes, strides, offset
  friend bool operator==(const Mutation&, const Mutation&) = default;
};

struct SymbolInfo {
  Symbol name;
  std::int64_t low = 2;  // 0 and 1 are specialised
  std::int64_t high = SymRange::kPositiveInfinity;
  std::int64_t hint = 2;  // the value met while tracing
  friend bool operator==(const SymbolInfo&, const SymbolInfo&) = default;
};

// A guard the trace made on symbols: must hold at call time for the graph to be valid.
struct SymGuard {
  enum class Kind : std::uint8_t { kEq, kNe, kLt, kLe } kind = Kind::kEq;
  SymExpr left, right;
  std::string reason;
  friend bool operator==(const SymGuard& a, const SymGuard& b) {
    return a.kind == b.kind && a.left == b.left && a.right == b.right;
  }
};

// A tensor constant: bytes in contiguous order, or an opaque handle kept by whoever built the
// graph.
struct Constant {
  ValueId value;
  std::string name;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  std::shared_ptr<void> handle;  // e.g. an at::Tensor, owned through its deleter
};

class Graph {
 public:
  explicit Graph(std::string name = "graph", Level level = Level::kNormalized)
      : name_(std::move(name)), level_(level) {}

  const std::string& name() const { return name_; }
  Level level() const { return level_; }
  void set_level(Level level) { level_ = level; }

  // Names are made unique by a numeric suffix; an empty hint gives "0", "1", ...
  ValueId add_value(ValueType type, std::string_view name_hint = {});
  ValueId add_input(Input::Kind kind, std::string name, ValueType type);
  // The constant is called as its value is, so that no two have the same name.
  ValueId add_constant(std::string_view name, TensorType type,
                       std::shared_ptr<const std::vector<std::byte>> bytes,
                       std::shared_ptr<void> handle = nullptr);
  NodeId add_node(const Target* target, std::vector<Argument> args, std::vector<ValueType> results,
                  SourceLocation location = {});

  Value& value(ValueId id) { return values_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const TensorType& tensor(ValueId id) const;  // checks that it is a tensor
  Node& node(NodeId id) { return nodes_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::size_t num_values() const { return values_.size(); }
  std::size_t num_nodes() const { return nodes_.size(); }

  // Program order. Removing a node from `order` deletes it from the program.
  std::vector<NodeId>& order() { return order_; }
  const std::vector<NodeId>& order() const { return order_; }
  std::vector<Input>& inputs() { return inputs_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  std::vector<Output>& outputs() { return outputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  std::vector<Mutation>& mutations() { return mutations_; }
  const std::vector<Mutation>& mutations() const { return mutations_; }
  std::vector<SymbolInfo>& symbols() { return symbols_; }
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }
  std::vector<SymGuard>& guards() { return guards_; }
  const std::vector<SymGuard>& guards() const { return guards_; }
  std::vector<Constant>& constants() { return constants_; }
  const std::vector<Constant>& constants() const { return constants_; }

  SymRanges ranges() const;  // of the symbols
  std::vector<std::uint32_t> use_counts()
      const;  // per value: nodes, outputs and mutations that read it

 private:
  std::string unique_name(std::string_view hint);
  std::string name_;
  Level level_;
  IndexVector<ValueId, Value> values_;
  IndexVector<NodeId, Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Mutation> mutations_;
  std::vector<SymbolInfo> symbols_;
  std::vector<SymGuard> guards_;
  std::vector<Constant> constants_;
  std::unordered_map<std::string, int> names_;  // to the next suffix; looked up only
};

// Structural equality up to value names; constants compare by bytes.
bool equal(const Graph& a, const Graph& b);

}  // namespace triptych::ir
