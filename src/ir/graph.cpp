#include "ir/graph.h"

#include <algorithm>

namespace triptych::ir {
namespace {

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "aten.add.Tensor" gives "add"; "torch.nn.functional.relu" gives "relu".
std::string_view name_hint(const Target& target) {
  std::string_view name = target.name;
  if (target.schema != nullptr) name = name.substr(0, name.rfind('.'));
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

std::string SourceLocation::str() const {
  return file.empty() ? std::string() : file + ":" + std::to_string(line);
}

std::string Graph::unique_name(std::string_view hint) {
  std::string base(hint);
  std::replace_if(base.begin(), base.end(), [](char c) { return !is_name_part(c); }, '_');
  if (!base.empty()) {
    const auto [entry, is_new] = names_.try_emplace(base, 1);
    if (is_new) return base;
  }
  int& next = names_.try_emplace(base, 0).first->second;
  while (true) {
    std::string name = base.empty() ? std::to_string(next++) : base + "_" + std::to_string(next++);
    if (names_.try_emplace(name, 1).second) return name;
  }
}

ValueId Graph::add_value(ValueType type, std::string_view name_hint) {
  return values_.push_back(Value{std::move(type), NodeId{}, 0, unique_name(name_hint)});
}

ValueId Graph::add_input(Input::Kind kind, std::string name, ValueType type) {
  const ValueId value = add_value(std::move(type), name);
  inputs_.push_back(Input{kind, value, std::move(name)});
  return value;
}

ValueId Graph::add_constant(std::string_view name, TensorType type,
                            std::shared_ptr<const std::vector<std::byte>> bytes,
                            std::shared_ptr<void> handle) {
  const ValueId value = add_value(std::move(type), name);
  constants_.push_back(Constant{value, values_[value].name, std::move(bytes), std::move(handle)});
  return value;
}

NodeId Graph::add_node(const Target* target, std::vector<Argument> args,
                       std::vector<ValueType> results, SourceLocation location) {
  Node node;
  node.target = target;
  node.args = std::move(args);
  node.location = std::move(location);
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  node.results.reserve(results.size());
  for (ValueType& type : results) {
    const ValueId value = add_value(std::move(type), name_hint(*target));
    values_[value].producer = id;
    values_[value].result_index = static_cast<std::uint32_t>(node.results.size());
    node.results.push_back(value);
  }
  nodes_.push_back(std::move(node));
  order_.push_back(id);
  return id;
}

const TensorType& Graph::tensor(ValueId id) const {
  const auto* type = std::get_if<TensorType>(&values_[id].type);
  TRIPTYCH_CHECK(type != nullptr, "%" + values_[id].name + " is no tensor");
  return *type;
}

SymRanges Graph::ranges() const {
  SymRanges out;
  for (const SymbolInfo& symbol : symbols_) out.set(symbol.name, {symbol.low, symbol.high});
  return out;
}

std::vector<std::uint32_t> Graph::use_counts() const {
  std::vector<std::uint32_t> counts(values_.size());
  const auto count = [&](ValueId value) {
    if (value.valid()) ++counts.at(value.value);
  };
  for (const NodeId id : order_) {
    for (const Argument& argument : nodes_[id].args) for_each_value(argument, count);
    for (const auto& [name, argument] : nodes_[id].kwargs) for_each_value(argument, count);
  }
  for (const Output& output : outputs_) {
    count(output.value);
    for_each_value(output.literal, count);
  }
  for (const Mutation& mutation : mutations_) count(mutation.value);
  return counts;
}

namespace {

bool same_bytes(const Constant& a, const Constant& b) {
  if (a.bytes != nullptr && b.bytes != nullptr) return a.bytes == b.bytes || *a.bytes == *b.bytes;
  return a.bytes == b.bytes && a.handle == b.handle;
}

// Walks two graphs in step; `pairs_` says which value of b stands for one of a.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b)
      : a_(a), b_(b), pairs_(a.num_values()), taken_(b.num_values()) {}

  bool run() {
    return a_.level() == b_.level() && a_.symbols() == b_.symbols() && a_.guards() == b_.guards() &&
           inputs() && constants() && nodes() && outputs() && mutations();
  }

 private:
  bool pair(ValueId x, ValueId y) {
    if (pairs_[x.value].valid() || taken_[y.value]) return false;
    pairs_[x.value] = y;
    taken_[y.value] = true;
    return a_.value(x).type == b_.value(y).type;
  }

  bool same(ValueId x, ValueId y) const {
    return x.valid() == y.valid() &&
           (!x.valid() || (pairs_[x.value].valid() && pairs_[x.value] == y));
  }

  bool same(const Argument& x, const Argument& y) const {
    return map_values(x, [&](ValueId id) { return pairs_[id.value]; }) == y;
  }

  bool inputs() {
    return std::equal(a_.inputs().begin(), a_.inputs().end(), b_.inputs().begin(),
                      b_.inputs().end(), [&](const Input& x, const Input& y) {
                        return x.kind == y.kind && x.name == y.name && pair(x.value, y.value);
                      });
  }

  bool constants() {
    return std::equal(a_.constants().begin(), a_.constants().end(), b_.constants().begin(),
                      b_.constants().end(), [&](const Constant& x, const Constant& y) {
                        return same_bytes(x, y) && pair(x.value, y.value);
                      });
  }

  bool nodes() {
    return std::equal(a_.order().begin(), a_.order().end(), b_.order().begin(), b_.order().end(),
                      [&](NodeId x, NodeId y) { return node(a_.node(x), b_.node(y)); });
  }

  bool node(const Node& x, const Node& y) {
    const auto same_argument = [&](const Argument& p, const Argument& q) { return same(p, q); };
    const auto same_keyword = [&](const auto& p, const auto& q) {
      return p.first == q.first && same(p.second, q.second);
    };
    return x.target == y.target &&
           std::equal(x.args.begin(), x.args.end(), y.args.begin(), y.args.end(), same_argument) &&
           std::equal(x.kwargs.begin(), x.kwargs.end(), y.kwargs.begin(), y.kwargs.end(),
                      same_keyword) &&
           std::equal(x.results.begin(), x.results.end(), y.results.begin(), y.results.end(),
                      [&](ValueId p, ValueId q) { return pair(p, q); });
  }

  bool outputs() {
    return std::equal(a_.outputs().begin(), a_.outputs().end(), b_.outputs().begin(),
                      b_.outputs().end(), [&](const Output& x, const Output& y) {
                        return x.kind == y.kind && same(x.value, y.value) && x.index == y.index &&
                               x.view == y.view && x.hidden == y.hidden &&
                               same(x.literal, y.literal);
                      });
  }

  bool mutations() {
    return std::equal(a_.mutations().begin(), a_.mutations().end(), b_.mutations().begin(),
                      b_.mutations().end(), [&](const Mutation& x, const Mutation& y) {
                        return x.kind == y.kind && x.input == y.input && same(x.value, y.value) &&
                               x.metadata == y.metadata;
                      });
  }

  const Graph& a_;
  const Graph& b_;
  std::vector<ValueId> pairs_;
  std::vector<bool> taken_;
};

}  // namespace

bool equal(const Graph& a, const Graph& b) { return Comparison(a, b).run(); }

}  // namespace triptych::ir
