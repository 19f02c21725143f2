// The program as fusion sees it: items with positions in an order that runs, values with producers
// and readers. Views are free and stand outside of the order; a value is named by the root of its
// memory.
#pragma once

#include "codegen/loops/fusion/legality.h"
#include "codegen/loops/loop_program.h"

namespace triptych::loops {

class FusionGraph {
 public:
  using NodeIndex = std::size_t;
  static constexpr NodeIndex kNone = ~NodeIndex{0};

  struct Node {
    double position = 0;
    bool is_kernel = false;
    bool alive = true;
    Group group;  // kernels
    ExternalItem external;
    std::vector<ValueId> inputs;  // roots, each once
    std::vector<ValueId> outputs;
  };

  explicit FusionGraph(LoopProgram program);

  const ir::Graph& graph() const { return program_.graph; }
  std::size_t size() const { return nodes_.size(); }
  Node& node(NodeIndex index) { return nodes_[index]; }
  ValueId root(ValueId value) const;
  NodeIndex producer(ValueId root_value) const;        // alive; kNone for inputs and constants
  std::vector<NodeIndex> readers(ValueId root_value);  // alive, each once, in order of creation
  bool is_result(ValueId root_value) const { return result_[root_value.value]; }
  // Whether anybody but `a` and `b` needs the value in memory.
  bool needed_outside(ValueId root_value, NodeIndex a, NodeIndex b);

  OrderWindow window(NodeIndex a, NodeIndex b);
  const std::vector<double>& barriers() const { return barriers_; }

  // b's node takes over a: one kernel `group` at `position`.
  void merge(NodeIndex a, NodeIndex b, double position);
  // Recomputes the inputs of a kernel whose group has changed.
  void refresh(NodeIndex index);
  // Drops a kernel that nothing reads, unless it has checks of its own: its readers have none of
  // them before they have copied it.
  void drop_if_unread(NodeIndex index, bool is_copied = false);

  LoopProgram finish();

 private:
  void add_items();
  void add_reader(ValueId root_value, NodeIndex index);
  NodeIndex alive(NodeIndex index) const;
  void emit_views(ValueId base, std::vector<Item>& items, const std::vector<bool>& used);

  LoopProgram program_;
  std::vector<Node> nodes_;
  std::vector<NodeIndex> merged_into_;
  std::vector<ValueId> base_;                // per value: what it is a view of
  std::vector<std::vector<ValueId>> views_;  // per value: direct views, in program order
  std::vector<NodeIndex> producer_;
  std::vector<std::vector<NodeIndex>> readers_;
  std::vector<bool> result_;
  std::vector<double> barriers_;
};

}  // namespace triptych::loops
