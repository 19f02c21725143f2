#include "codegen/loops/loop_program.h"

namespace triptych::loops {
namespace {

struct ItemPrinter {
  const ir::Graph& graph;
  std::string& out;

  void operator()(const KernelItem& item) const { out += print(item.kernel); }
  void operator()(const ExternalItem& item) const {
    const ir::Node& node = graph.node(item.node);
    out += "external ";
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      out += (i > 0 ? ", %" : "%") + graph.value(node.results[i]).name;
    }
    out += " = " + node.target->name + "  # " + item.reason + "\n";
  }
  void operator()(const ViewItem& item) const {
    out += "view %" + graph.value(item.value).name + " of %" + graph.value(item.base).name + "\n";
  }
};

}  // namespace

std::string print(const LoopProgram& program) {
  std::string out;
  for (const Item& item : program.items) {
    if (!out.empty()) out += "\n";
    std::visit(ItemPrinter{program.graph, out}, item);
  }
  return out;
}

}  // namespace triptych::loops
