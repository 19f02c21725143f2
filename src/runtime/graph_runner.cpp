#include "runtime/graph_runner.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>

#include "runtime/argument_to_ivalue.h"
#include "runtime/constants.h"
#include "runtime/errors.h"
#include "runtime/external_op.h"
#include "runtime/output_view.h"
#include "runtime/symbol_binding.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {

using c10::IValue;

namespace {

class GraphRunner {
 public:
  GraphRunner(const ir::Graph& graph, const std::vector<IValue>& inputs)
      : graph_(graph), inputs_(inputs), values_(graph.num_values()) {
    if (inputs.size() != graph.inputs().size()) {
      fail(user_error("runtime.input_count",
                      graph.name() + " takes " + std::to_string(graph.inputs().size()) +
                          " inputs, found " + std::to_string(inputs.size())));
    }
    symbols_ = bind_symbols(graph, inputs);
    source_ = {[this](ir::ValueId id) { return value(id); },
               [this](const ir::SymExpr& e) { return evaluate(e, symbols_); }};
  }

  void compute() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      values_[graph_.inputs()[i].value.value] = inputs_[i];
    }
    for (const ir::Constant& constant : graph_.constants()) {
      values_[constant.value.value] = constant_tensor(constant, graph_.tensor(constant.value));
    }
    for (const ir::NodeId id : graph_.order()) run_node(graph_.node(id));
  }

  void change_inputs() {
    own_results();
    for (const ir::Mutation& mutation : graph_.mutations()) mutate(mutation);
  }

  std::vector<IValue> outputs() {
    made_.resize(graph_.outputs().size());
    std::vector<IValue> results;
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!graph_.outputs()[i].hidden) results.push_back(made(i));
    }
    return results;
  }

 private:
  IValue value(ir::ValueId id) const {
    const auto* scalar = std::get_if<ir::ScalarValueType>(&graph_.value(id).type);
    if (scalar != nullptr && scalar->expr) return evaluate(*scalar->expr, symbols_);
    return values_[id.value];
  }

  void run_node(const ir::Node& node) {
    const c10::OperatorHandle op = find_operator(*node.target);
    const auto& arguments = op.schema().arguments();
    if (node.args.size() != arguments.size()) {
      fail(internal_error("runtime.arguments",
                          node.target->name + ": found " + std::to_string(node.args.size()) +
                              " arguments, expected " + std::to_string(arguments.size()),
                          node.location.str()));
    }
    torch::jit::Stack stack;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      stack.push_back(to_ivalue(node.args[i], *arguments[i].real_type(), source_));
    }
    op.callBoxed(&stack);
    std::vector<IValue> results;
    flatten_results(stack, results);
    if (results.size() != node.results.size()) {
      fail(internal_error("runtime.results",
                          node.target->name + ": found " + std::to_string(results.size()) +
                              " results, expected " + std::to_string(node.results.size()),
                          node.location.str()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      values_[node.results[i].value] = std::move(results[i]);
    }
  }

  // Values are immutable: fresh outputs and new contents that ATen made as views of inputs are
  // copied before inputs get new contents.
  void own_results() {
    for (const ir::Output& output : graph_.outputs()) {
      if (output.kind == ir::Output::Kind::kFresh) own(output.value);
    }
    for (const ir::Mutation& mutation : graph_.mutations()) {
      if (mutation.value.valid()) own(mutation.value);
    }
  }

  void own(ir::ValueId id) {
    IValue& value = values_[id.value];
    if (!value.isTensor() || !value.toTensor().defined()) return;
    for (const IValue& input : inputs_) {
      if (!input.isTensor() || !input.toTensor().is_alias_of(value.toTensor())) continue;
      const at::Tensor shown = value.toTensor();
      at::Tensor copy = at::empty_strided(shown.sizes(), shown.strides(), shown.options());
      copy.copy_(shown);
      value = std::move(copy);
      return;
    }
  }

  void mutate(const ir::Mutation& mutation) {
    const at::Tensor& input = inputs_[mutation.input].toTensor();
    if (mutation.kind == ir::Mutation::Kind::kData) {
      input.copy_(value(mutation.value).toTensor());
    } else {
      input.as_strided_(integers(mutation.metadata.sizes), integers(mutation.metadata.strides),
                        evaluate(mutation.metadata.storage_offset, symbols_));
    }
  }

  std::vector<std::int64_t> integers(const std::vector<ir::SymExpr>& exprs) const {
    std::vector<std::int64_t> values;
    for (const ir::SymExpr& expr : exprs) values.push_back(evaluate(expr, symbols_));
    return values;
  }

  IValue view(const IValue& base, const ir::Output& output) const {
    const OutputTypes types{
        [this](std::uint32_t i) -> const auto& { return graph_.tensor(graph_.inputs()[i].value); },
        [this](ir::ValueId id) -> const auto& { return graph_.tensor(id); }};
    const OutputView found = output_view(graph_.outputs(), output, types);
    return view_of_base(base_of_view(output, base.toTensor()), found.other_dtype,
                        integers(output.view.sizes), integers(output.view.strides),
                        evaluate(found.distance, symbols_));
  }

  IValue output(std::uint32_t index) {
    using Kind = ir::Output::Kind;
    const ir::Output& output = graph_.outputs()[index];
    switch (output.kind) {
      case Kind::kFresh:
        return value(output.value);
      case Kind::kInput:
        return inputs_[output.index];
      case Kind::kViewOfInput:
        return view(inputs_[output.index], output);
      case Kind::kViewOfOutput:
        return view(made(output.index), output);
      case Kind::kSameAs:
        return made(output.index);
      case Kind::kLiteral:
        return to_ivalue(output.literal, *c10::AnyType::get(), source_);
    }
    TRIPTYCH_UNREACHABLE("output kind");
  }

  // An output may name a later one (a hidden base): made on demand, once.
  const IValue& made(std::uint32_t index) {
    std::optional<IValue>& slot = made_[index];
    if (!slot) slot = output(index);
    return *slot;
  }

  const ir::Graph& graph_;
  const std::vector<IValue>& inputs_;
  std::vector<IValue> values_;
  std::vector<std::optional<IValue>> made_;
  SymbolValues symbols_;
  ArgumentSource source_;
};

}  // namespace

std::vector<IValue> run_graph(const ir::Graph& graph, const std::vector<IValue>& inputs) {
  GraphRunner runner(graph, inputs);
  {
    const at::NoGradGuard no_grad;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    runner.compute();
    runner.change_inputs();
  }
  return runner.outputs();
}

void compute_graph(const ir::Graph& graph, const std::vector<IValue>& inputs) {
  const at::NoGradGuard no_grad;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  GraphRunner(graph, inputs).compute();
}

}  // namespace triptych::runtime
