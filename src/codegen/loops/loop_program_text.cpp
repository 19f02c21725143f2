#include "codegen/loops/loop_program_text.h"

#include <algorithm>
#include <array>

#include "codegen/loops/kernel_equal.h"
#include "ir/type_text.h"
#include "ops/op_table.h"
#include "support/text_blocks.h"

namespace triptych::loops {
namespace {

using ir::ValueId;

std::string name_list(const ir::Graph& graph, const std::vector<ValueId>& values) {
  std::string out;
  for (const ValueId value : values) {
    if (!out.empty()) out += ", ";
    out += "%" + graph.value(value).name;
  }
  return out;
}

// Neither an input, nor a constant, nor the result of a node.
std::vector<ValueId> added_values(const ir::Graph& graph) {
  std::vector<bool> known(graph.num_values());
  for (const ir::Input& input : graph.inputs()) known[input.value.value] = true;
  for (const ir::Constant& constant : graph.constants()) known[constant.value.value] = true;
  std::vector<ValueId> added;
  for (std::uint32_t i = 0; i < graph.num_values(); ++i) {
    if (!known[i] && !graph.value(ValueId{i}).producer.valid()) added.push_back(ValueId{i});
  }
  return added;
}

bool bound_by_name(const KernelItem& item, const ir::Graph& graph) {
  std::size_t i = 0;
  for (const Buffer& buffer : item.kernel.buffers) {
    if (buffer.kind == Buffer::Kind::kLocal) continue;
    if (i == item.buffers.size() || graph.value(item.buffers[i++]).name != buffer.name)
      return false;
  }
  return i == item.buffers.size();
}

struct ItemPrinter {
  const ir::Graph& graph;
  std::string& out;

  void operator()(const KernelItem& item) const {
    out += print(item.kernel);
    if (!bound_by_name(item, graph)) out += "bind " + name_list(graph, item.buffers) + "\n";
  }
  void operator()(const ExternalItem& item) const {
    const ir::Node& node = graph.node(item.node);
    out += "external ";
    if (node.results.empty()) {
      const auto& order = graph.order();
      const auto place = std::find(order.begin(), order.end(), item.node) - order.begin();
      out += "node " + std::to_string(place);
    } else {
      out += name_list(graph, node.results) + " =";
    }
    out += " ";
    ir::append_word(node.target->name, out);
    out += "  # " + item.reason + "\n";
  }
  void operator()(const ViewItem& item) const {
    out += "view %" + graph.value(item.value).name + " of %" + graph.value(item.base).name + "\n";
  }
};

class Parser {
 public:
  explicit Parser(const ir::ConstantBytes& constants) : constants_(constants) {}

  Result<LoopProgram> run(std::string_view text) {
    static constexpr std::array<std::string_view, 7> kKeywords = {
        "loop", "graph", "value", "kernel", "bind", "external", "view"};
    for (const TextBlock& block : split_blocks(text, kKeywords)) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit parsed, part(block));
    }
    if (!has_graph_) return user_error("loops.parse", "found no graph in a loop program");
    for (KernelItem* item : unbound()) {
      TRIPTYCH_TRY([[maybe_unused]] const Unit bound, bind_by_name(*item));
    }
    return std::move(program_);
  }

 private:
  Status part(const TextBlock& block) {
    Scanner scanner(block.text, "loops.parse");
    if (block.keyword == "graph") return graph(block);
    if (block.keyword == "kernel") {
      TRIPTYCH_TRY(Kernel kernel, parse_kernel(block.text));
      program_.items.emplace_back(KernelItem{std::move(kernel), {}});
      return Unit{};
    }
    if (scanner.accept("loop")) return scanner.expect("program");
    if (scanner.accept("value")) return value(scanner);
    if (scanner.accept("bind")) return bind(scanner);
    if (scanner.accept("external")) return external(scanner);
    if (scanner.accept("view")) return view(scanner);
    return scanner.error("'loop program', 'graph', 'kernel', 'external', 'view' or 'value'");
  }

  Status graph(const TextBlock& block) {
    TRIPTYCH_TRY(program_.graph, ops::parse_graph(block.text, constants_));
    has_graph_ = true;
    for (std::uint32_t i = 0; i < program_.graph.num_values(); ++i) {
      values_.emplace(program_.graph.value(ValueId{i}).name, ValueId{i});
    }
    return Unit{};
  }

  Status value(Scanner& scanner) {
    TRIPTYCH_TRY([[maybe_unused]] const Unit percent, scanner.expect("%"));
    const std::string name(value_name(scanner));
    TRIPTYCH_TRY([[maybe_unused]] const Unit colon, scanner.expect(":"));
    TRIPTYCH_TRY(ir::ValueType type, ir::parse_type(scanner));
    if (values_.contains(name)) return scanner.error("a value with a name of its own");
    values_.emplace(name, program_.graph.add_value(std::move(type), name));
    return Unit{};
  }

  Status bind(Scanner& scanner) {
    auto* item = program_.items.empty() ? nullptr : std::get_if<KernelItem>(&program_.items.back());
    if (item == nullptr) return scanner.error("a kernel in front of 'bind'");
    return names(scanner, item->buffers);
  }

  Status external(Scanner& scanner) {
    ExternalItem item;
    if (scanner.accept("node")) {
      TRIPTYCH_TRY(const std::int64_t place, scanner.integer());
      const auto& order = program_.graph.order();
      if (place < 0 || static_cast<std::size_t>(place) >= order.size())
        return scanner.error("the place of one of the graph's nodes");
      item.node = order[static_cast<std::size_t>(place)];
    } else {
      std::vector<ValueId> results;
      TRIPTYCH_TRY([[maybe_unused]] const Unit read, names(scanner, results));
      item.node = program_.graph.value(results.front()).producer;
      TRIPTYCH_TRY([[maybe_unused]] const Unit equals, scanner.expect("="));
      if (!item.node.valid() || program_.graph.node(item.node).results != results)
        return scanner.error("the results of one of the graph's nodes in front of '='");
    }
    TRIPTYCH_TRY(const std::string target, ir::parse_word(scanner));
    if (program_.graph.node(item.node).target->name != target)
      return scanner.error("the target of the graph's node in front of this");
    if (!scanner.line_ended() && scanner.accept("#")) item.reason = scanner.rest_of_line();
    program_.items.emplace_back(std::move(item));
    return Unit{};
  }

  Status view(Scanner& scanner) {
    ViewItem item;
    TRIPTYCH_TRY(item.value, use(scanner));
    TRIPTYCH_TRY([[maybe_unused]] const Unit of, scanner.expect("of"));
    TRIPTYCH_TRY(item.base, use(scanner));
    program_.items.emplace_back(item);
    return Unit{};
  }

  std::vector<KernelItem*> unbound() {
    std::vector<KernelItem*> found;
    for (Item& item : program_.items) {
      auto* kernel = std::get_if<KernelItem>(&item);
      if (kernel != nullptr && kernel->buffers.empty()) found.push_back(kernel);
    }
    return found;
  }

  Status bind_by_name(KernelItem& item) {
    for (const Buffer& buffer : item.kernel.buffers) {
      if (buffer.kind == Buffer::Kind::kLocal) continue;
      const auto found = values_.find(buffer.name);
      if (found == values_.end()) {
        return user_error("loops.parse", item.kernel.name + ": found no value called %" +
                                             buffer.name + ", expected one for each buffer");
      }
      item.buffers.push_back(found->second);
    }
    return Unit{};
  }

  static std::string_view value_name(Scanner& scanner) {
    scanner.peek();
    const std::size_t begin = scanner.position();
    const std::string_view text = scanner.text();
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    scanner.rewind(end);
    return text.substr(begin, end - begin);
  }

  Result<ValueId> use(Scanner& scanner) {
    TRIPTYCH_TRY([[maybe_unused]] const Unit percent, scanner.expect("%"));
    const auto found = values_.find(value_name(scanner));
    if (found == values_.end()) return scanner.error("a value of the graph in front of this");
    return found->second;
  }

  Status names(Scanner& scanner, std::vector<ValueId>& out) {
    do {
      TRIPTYCH_TRY(const ValueId value, use(scanner));
      out.push_back(value);
    } while (scanner.accept(","));
    return Unit{};
  }

  const ir::ConstantBytes& constants_;
  LoopProgram program_;
  bool has_graph_ = false;
  std::map<std::string, ValueId, std::less<>> values_;
};

struct SameItem {
  const ir::Graph& a;
  const ir::Graph& b;

  bool same(ValueId x, ValueId y) const { return a.value(x).name == b.value(y).name; }
  bool same(const std::vector<ValueId>& x, const std::vector<ValueId>& y) const {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](ValueId p, ValueId q) { return same(p, q); });
  }
  bool operator()(const KernelItem& x, const KernelItem& y) const {
    return equal(x.kernel, y.kernel) && same(x.buffers, y.buffers);
  }
  bool operator()(const ExternalItem& x, const ExternalItem& y) const {
    const ir::Node& p = a.node(x.node);
    const ir::Node& q = b.node(y.node);
    return p.target == q.target && same(p.results, q.results) && x.reason == y.reason;
  }
  bool operator()(const ViewItem& x, const ViewItem& y) const {
    return same(x.value, y.value) && same(x.base, y.base);
  }
  template <class X, class Y>
  bool operator()(const X&, const Y&) const {
    return false;
  }
};

}  // namespace

std::string print_items(const LoopProgram& program) {
  std::string out;
  for (const Item& item : program.items) {
    if (!out.empty()) out += "\n";
    std::visit(ItemPrinter{program.graph, out}, item);
  }
  return out;
}

std::string print(const LoopProgram& program) {
  std::string out = "loop program\n" + ir::print(program.graph);
  for (const ValueId value : added_values(program.graph)) {
    out += "value %" + program.graph.value(value).name + ": ";
    ir::append_type(program.graph.value(value).type, out);
    out += "\n";
  }
  const std::string items = print_items(program);
  return items.empty() ? out : out + "\n" + items;
}

Result<LoopProgram> parse_loop_program(std::string_view text, const ir::ConstantBytes& constants) {
  return Parser(constants).run(text);
}

bool equal(const LoopProgram& a, const LoopProgram& b) {
  return ir::equal(a.graph, b.graph) &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [&](const Item& x, const Item& y) {
                      return std::visit(SameItem{a.graph, b.graph}, x, y);
                    });
}

}  // namespace triptych::loops
