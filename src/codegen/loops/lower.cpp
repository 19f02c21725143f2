#include "codegen/loops/lower.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/loops/lowerings/lowering.h"
#include "ops/op_table.h"

namespace triptych::loops {
namespace {

// "aten._softmax.default" -> "k7_softmax"
std::string kernel_name(std::string_view target, std::size_t number) {
  const std::size_t last = target.rfind('.');
  const std::size_t first = last == std::string_view::npos ? last : target.rfind('.', last - 1);
  std::string_view op =
      first == std::string_view::npos ? target : target.substr(first + 1, last - first - 1);
  while (op.starts_with('_')) op.remove_prefix(1);
  return "k" + std::to_string(number) + "_" + std::string(op);
}

// Loops that never run would have to be thought of everywhere, for nothing.
bool is_empty(const ir::TensorType& type) {
  return std::any_of(type.sizes.begin(), type.sizes.end(),
                     [](const SymExpr& size) { return size.as_constant() == 0; });
}

class GraphLowering {
 public:
  GraphLowering(const ir::Graph& graph, const LowerOptions& options)
      : graph_(graph), options_(options), roots_(graph.num_values()), uses_(graph.use_counts()) {}

  std::vector<Item> run() {
    items_.reserve(graph_.order().size());
    for (const ir::NodeId id : graph_.order()) {
      if (is_symbolic(graph_.node(id))) continue;
      const Status status = lower_node(graph_.node(id));
      if (!status.ok()) items_.push_back(ExternalItem{id, status.error().message});
    }
    return std::move(items_);
  }

 private:
  // Sizes and their arithmetic: expressions, known without running anything.
  bool is_symbolic(const ir::Node& node) const {
    for (const ValueId result : node.results) {
      const auto* scalar = std::get_if<ir::ScalarValueType>(&graph_.value(result).type);
      if (scalar == nullptr || !scalar->expr) return false;
    }
    return !node.results.empty();
  }

  // An error means: external, for the reason it states.
  Status lower_node(const ir::Node& node) {
    if (options_.registry != nullptr) {
      if (const Expression* expression = options_.registry->find(node.target->name)) {
        return kernel(node, false, [&](LoweringContext& context) {
          return lower_expression(context, *expression, "promote", kAllExact);
        });
      }
    }
    const ops::OpInfo* op = ops::find(*node.target);
    if (op == nullptr) return not_lowered("no lowering: not in the op table");
    if (op->has(ops::Tag::kRandom)) return not_lowered("random: keeps eager's stream");
    if (!op->expression.empty()) {
      TRIPTYCH_TRY(const Expression* expression, parsed(*op));
      return kernel(node, false, [&](LoweringContext& context) {
        return lower_expression(context, *expression, op->dtype_rule, op->exact_numbers);
      });
    }
    if (op->lowering.empty()) return not_lowered(std::string(op->no_lowering));
    const Lowering lowering = find_lowering(op->lowering);
    if (lowering == nullptr)
      return not_lowered("no lowering: " + std::string(op->lowering) + " is not written yet");
    return kernel(node, op->has(ops::Tag::kView), lowering);
  }

  template <class Lower>
  Status kernel(const ir::Node& node, bool is_view, const Lower& lower) {
    // Views move no elements: any dtype will do.
    if (Status status = is_view ? Status(Unit{}) : covered(node); !status.ok()) return status;
    Builder builder(graph_, roots_, kernel_name(node.target->name, kernels_));
    LoweringContext context(graph_, node, roots_, uses_, options_, builder);
    if (Status status = lower(context); !status.ok()) return status;
    if (!context.views.empty()) {
      for (const ViewItem& view : context.views) {
        items_.push_back(view);
        if (context.views_stay_inside) roots_.set(view.value, view.base);
      }
      return Unit{};
    }
    ++kernels_;
    items_.push_back(builder.finish({graph_.value(node.results.at(0)).name}));
    return Unit{};
  }

  // Whether kernels can hold what the node reads and makes, all on one device.
  Status covered(const ir::Node& node) const {
    if (node.results.empty()) return not_lowered("no results");
    const ir::TensorType* first = nullptr;
    std::optional<Error> error;
    const auto visit = [&](ValueId value) {
      const ir::ValueType& type = graph_.value(value).type;
      if (std::holds_alternative<ir::ScalarValueType>(type) || error) return;
      const auto* tensor = std::get_if<ir::TensorType>(&type);
      if (tensor == nullptr) {
        error = not_lowered("an operand or result is no tensor");
      } else if (!supported_dtype(tensor->dtype)) {
        error = not_lowered("dtype " + std::string(ir::dtype_name(tensor->dtype)));
      } else if (first != nullptr && !(tensor->device == first->device)) {
        error = not_lowered("tensors of several devices");
      } else if (is_empty(*tensor)) {
        error = not_lowered("a tensor without elements");
      }
      first = tensor;
    };
    for (const ValueId result : node.results) {
      if (uses_[result.value] > 0) visit(result);
    }
    for (const ir::Argument& argument : node.args) ir::for_each_value(argument, visit);
    if (error) return *std::move(error);
    return Unit{};
  }

  Result<const Expression*> parsed(const ops::OpInfo& op) {
    const int key = static_cast<int>(op.op);
    const auto found = parsed_.find(key);
    if (found != parsed_.end()) return &found->second;
    TRIPTYCH_TRY(Expression expression, parse_expression(op.expression));
    return &parsed_.emplace(key, std::move(expression)).first->second;
  }

  const ir::Graph& graph_;
  const LowerOptions& options_;
  ViewRoots roots_;
  std::vector<std::uint32_t> uses_;
  std::vector<Item> items_;
  std::map<int, Expression> parsed_;
  std::size_t kernels_ = 0;
};

}  // namespace

Status LoweringRegistry::add_expression(std::string name, std::string_view expression) {
  TRIPTYCH_TRY(Expression parsed, parse_expression(expression));
  expressions_.insert_or_assign(std::move(name), std::move(parsed));
  return Unit{};
}

const Expression* LoweringRegistry::find(std::string_view name) const {
  const auto found = expressions_.find(name);
  return found != expressions_.end() ? &found->second : nullptr;
}

Result<LoopProgram> lower(ir::Graph graph, const LowerOptions& options) {
  std::vector<Item> items = GraphLowering(graph, options).run();
  return LoopProgram{std::move(graph), std::move(items)};
}

}  // namespace triptych::loops
