// Checks loop programs against the rules at the head of loop_program.h.
#include "codegen/loops/loop_program_text.h"
#include "ir/verifier.h"

namespace triptych::loops {
namespace {

using ir::ValueId;

class Verifier {
 public:
  explicit Verifier(const LoopProgram& program)
      : graph_(program.graph), defined_(program.graph.num_values()) {}

  std::vector<Error> run(const std::vector<Item>& items) {
    errors_ = ir::verify(graph_);
    for (const ir::Input& input : graph_.inputs()) defined_[input.value.value] = true;
    for (const ir::Constant& constant : graph_.constants()) defined_[constant.value.value] = true;
    for (const Item& item : items) {
      std::visit([this](const auto& it) { check(it); }, item);
    }
    for (const ir::Output& output : graph_.outputs()) {
      if (output.kind == ir::Output::Kind::kFresh) read(output.value, "an output");
    }
    for (const ir::Mutation& mutation : graph_.mutations()) {
      if (mutation.value.valid()) read(mutation.value, "a mutation");
    }
    return std::move(errors_);
  }

 private:
  void report(std::string_view rule, const std::string& message) {
    errors_.push_back(internal_error("loops.verify." + std::string(rule),
                                     "rule " + std::string(rule) + ": " + message));
  }

  // Symbolic integers are formulas over symbols: nobody computes them.
  bool is_number(ValueId value) const {
    return std::holds_alternative<ir::ScalarValueType>(graph_.value(value).type);
  }

  void read(ValueId value, const std::string& reader) {
    if (!value.valid() || defined_[value.value] || is_number(value)) return;
    report("1", reader + " reads %" + graph_.value(value).name + ", which no item above computes");
  }

  void define(ValueId value, const std::string& item) {
    if (defined_[value.value] && !is_number(value))
      report("2", item + " computes %" + graph_.value(value).name + ", which exists already");
    defined_[value.value] = true;
  }

  void check(const KernelItem& item) {
    for (Error& error : verify_kernel(item.kernel)) errors_.push_back(std::move(error));
    std::size_t i = 0;
    std::vector<ValueId> written;
    for (const Buffer& buffer : item.kernel.buffers) {
      if (buffer.kind == Buffer::Kind::kLocal) continue;
      if (i == item.buffers.size()) break;
      const ValueId value = item.buffers[i++];
      const auto* tensor = std::get_if<ir::TensorType>(&graph_.value(value).type);
      if (tensor == nullptr || tensor->dtype != buffer.dtype)
        report("1", item.kernel.name + ": %" + graph_.value(value).name +
                        " is no tensor of the dtype of buffer %" + buffer.name);
      if (buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kInOut) {
        read(value, item.kernel.name);
      } else {
        written.push_back(value);
      }
    }
    if (i != item.buffers.size())
      report("1", item.kernel.name + " has not one value for each buffer");
    // Several kernels may write parts of one value.
    for (const ValueId value : written) defined_[value.value] = true;
  }

  void check(const ExternalItem& item) {
    const ir::Node& node = graph_.node(item.node);
    const auto visit = [&](ValueId value) { read(value, node.target->name); };
    for (const ir::Argument& argument : node.args) for_each_value(argument, visit);
    for (const ValueId result : node.results) define(result, node.target->name);
  }

  void check(const ViewItem& item) {
    read(item.base, "a view");
    define(item.value, "a view");
  }

  const ir::Graph& graph_;
  std::vector<bool> defined_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> verify(const LoopProgram& program) {
  return Verifier(program).run(program.items);
}

}  // namespace triptych::loops
