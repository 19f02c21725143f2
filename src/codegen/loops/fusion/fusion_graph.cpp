#include "codegen/loops/fusion/fusion_graph.h"

#include <algorithm>
#include <limits>

#include "ops/op_table.h"

namespace triptych::loops {
namespace {

bool is_barrier(const ir::Target& target) {
  const ops::OpInfo* op = ops::find(target);
  return op == nullptr || op->has(ops::Tag::kRandom) || op->has(ops::Tag::kEffect) ||
         op->has(ops::Tag::kInplace);
}

void add_once(std::vector<ValueId>& values, ValueId value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

FusionGraph::FusionGraph(LoopProgram program) : program_(std::move(program)) {
  const std::size_t values = program_.graph.num_values();
  base_.resize(values);
  views_.resize(values);
  producer_.assign(values, kNone);
  readers_.resize(values);
  result_.assign(values, false);
  for (const Item& item : program_.items) {
    const auto* view = std::get_if<ViewItem>(&item);
    if (view == nullptr) continue;
    base_[view->value.value] = view->base;
    views_[view->base.value].push_back(view->value);
  }
  for (const ir::Output& output : program_.graph.outputs()) {
    if (output.value.valid()) result_[root(output.value).value] = true;
  }
  for (const ir::Mutation& mutation : program_.graph.mutations()) {
    if (mutation.value.valid()) result_[root(mutation.value).value] = true;
  }
  add_items();
}

void FusionGraph::add_items() {
  nodes_.reserve(program_.items.size());
  for (Item& item : program_.items) {
    if (std::holds_alternative<ViewItem>(item)) continue;
    Node node;
    node.position = static_cast<double>(nodes_.size());
    if (auto* kernel = std::get_if<KernelItem>(&item)) {
      node.is_kernel = true;
      node.group = make_group(std::move(*kernel));
      nodes_.push_back(std::move(node));
      merged_into_.push_back(nodes_.size() - 1);
      refresh(nodes_.size() - 1);
      continue;
    }
    node.external = std::move(std::get<ExternalItem>(item));
    const ir::Node& call = program_.graph.node(node.external.node);
    const auto read = [&](ValueId value) { add_once(node.inputs, root(value)); };
    for (const ir::Argument& arg : call.args) ir::for_each_value(arg, read);
    for (const auto& [name, arg] : call.kwargs) ir::for_each_value(arg, read);
    node.outputs = call.results;
    if (is_barrier(*call.target)) barriers_.push_back(node.position);
    nodes_.push_back(std::move(node));
    const NodeIndex index = nodes_.size() - 1;
    merged_into_.push_back(index);
    for (ValueId value : nodes_[index].inputs) add_reader(value, index);
    for (ValueId value : nodes_[index].outputs) producer_[value.value] = index;
  }
}

ValueId FusionGraph::root(ValueId value) const {
  while (base_[value.value].valid()) value = base_[value.value];
  return value;
}

FusionGraph::NodeIndex FusionGraph::alive(NodeIndex index) const {
  while (merged_into_[index] != index) index = merged_into_[index];
  return index;
}

FusionGraph::NodeIndex FusionGraph::producer(ValueId root_value) const {
  const NodeIndex index = producer_[root_value.value];
  return index == kNone ? kNone : alive(index);
}

void FusionGraph::add_reader(ValueId root_value, NodeIndex index) {
  auto& readers = readers_[root_value.value];
  if (readers.empty() || readers.back() != index) readers.push_back(index);
}

std::vector<FusionGraph::NodeIndex> FusionGraph::readers(ValueId root_value) {
  auto& stored = readers_[root_value.value];
  std::vector<NodeIndex> result;
  for (NodeIndex index : stored) {
    const NodeIndex now = alive(index);
    const auto& inputs = nodes_[now].inputs;
    if (!nodes_[now].alive) continue;
    if (std::find(inputs.begin(), inputs.end(), root_value) == inputs.end()) continue;
    if (std::find(result.begin(), result.end(), now) == result.end()) result.push_back(now);
  }
  stored = result;
  return result;
}

bool FusionGraph::needed_outside(ValueId root_value, NodeIndex a, NodeIndex b) {
  if (is_result(root_value)) return true;
  for (NodeIndex reader : readers(root_value)) {
    if (reader != a && reader != b) return true;
  }
  return false;
}

OrderWindow FusionGraph::window(NodeIndex a, NodeIndex b) {
  OrderWindow window{-1, std::numeric_limits<double>::infinity()};
  for (NodeIndex index : {a, b}) {
    for (ValueId value : nodes_[index].inputs) {
      const NodeIndex from = producer(value);
      if (from == kNone || from == a || from == b) continue;
      window.earliest = std::max(window.earliest, nodes_[from].position);
    }
    for (ValueId value : nodes_[index].outputs) {
      for (NodeIndex reader : readers(value)) {
        if (reader == a || reader == b) continue;
        window.latest = std::min(window.latest, nodes_[reader].position);
      }
    }
  }
  return window;
}

void FusionGraph::refresh(NodeIndex index) {
  Node& node = nodes_[index];
  node.inputs.clear();
  node.outputs.clear();
  std::vector<bool> touched(node.group.values.size(), false);
  for_each_statement(std::as_const(node.group.kernel.body), [&](const Statement& statement) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
      if (instruction->op == ScalarOp::kLoad) touched[instruction->buffer.value] = true;
    } else if (const auto* store = std::get_if<Store>(&statement.data)) {
      touched[store->buffer.value] = true;
    }
  });
  for (std::size_t i = 0; i < node.group.values.size(); ++i) {
    const ValueId value = node.group.values[i];
    if (!value.valid() || !touched[i]) continue;
    if (node.group.kernel.buffers.items()[i].kind == Buffer::Kind::kOutput) {
      node.outputs.push_back(value);
      producer_[value.value] = index;
    } else {
      add_once(node.inputs, root(value));
    }
  }
  for (ValueId value : node.inputs) add_reader(value, index);
}

void FusionGraph::merge(NodeIndex a, NodeIndex b, double position) {
  nodes_[a].alive = false;
  merged_into_[a] = b;
  nodes_[b].position = position;
  refresh(b);
}

void FusionGraph::drop_if_unread(NodeIndex index, bool is_copied) {
  Node& node = nodes_[index];
  if (!node.alive || !node.is_kernel) return;
  if (!is_copied && node.group.has_checks) return;
  for (ValueId value : node.outputs) {
    if (needed_outside(value, index, index)) return;
  }
  node.alive = false;
  const std::vector<ValueId> inputs = node.inputs;
  for (ValueId value : inputs) {
    if (const NodeIndex from = producer(value); from != kNone && from != index)
      drop_if_unread(from);
  }
}

void FusionGraph::emit_views(ValueId base, std::vector<Item>& items,
                             const std::vector<bool>& used) {
  for (ValueId view : views_[base.value]) {
    if (used[view.value]) items.emplace_back(ViewItem{view, base});
    emit_views(view, items, used);
  }
}

LoopProgram FusionGraph::finish() {
  std::vector<NodeIndex> order;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].alive) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](NodeIndex a, NodeIndex b) {
    return nodes_[a].position < nodes_[b].position;
  });
  // A view is kept when it, or a view of it, is used by name.
  const ir::Graph& graph = program_.graph;
  std::vector<bool> used(graph.num_values(), false);
  const auto use = [&](ValueId value) {
    for (; value.valid() && !used[value.value]; value = base_[value.value])
      used[value.value] = true;
  };
  for (const ir::Output& output : graph.outputs()) use(output.value);
  for (const ir::Mutation& mutation : graph.mutations()) use(mutation.value);
  for (NodeIndex index : order) {
    const Node& node = nodes_[index];
    for (ValueId value : node.group.values) use(value);
    if (node.is_kernel) continue;
    const ir::Node& call = graph.node(node.external.node);
    for (const ir::Argument& arg : call.args) ir::for_each_value(arg, use);
    for (const auto& [name, arg] : call.kwargs) ir::for_each_value(arg, use);
  }
  std::vector<Item> items;
  std::vector<bool> made(graph.num_values(), false);
  for (NodeIndex index : order) {
    for (ValueId value : nodes_[index].outputs) made[value.value] = true;
  }
  for (std::uint32_t i = 0; i < graph.num_values(); ++i) {
    const bool is_root = !base_[i].valid();
    if (is_root && !made[i]) emit_views(ValueId{i}, items, used);
  }
  for (NodeIndex index : order) {
    Node& node = nodes_[index];
    const std::vector<ValueId> outputs = node.outputs;
    if (node.is_kernel) {
      std::vector<ValueId> values;
      for (ValueId value : node.group.values) {
        if (value.valid()) values.push_back(value);
      }
      items.emplace_back(KernelItem{std::move(node.group.kernel), std::move(values)});
    } else {
      items.emplace_back(std::move(node.external));
    }
    for (ValueId value : outputs) emit_views(value, items, used);
  }
  program_.items = std::move(items);
  return std::move(program_);
}

}  // namespace triptych::loops
