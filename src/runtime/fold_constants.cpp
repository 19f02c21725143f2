#include "runtime/fold_constants.h"

#include <exception>
#include <optional>

#include <c10/core/InferenceMode.h>

#include "ops/op_table.h"
#include "ops/passes/dead_code_elimination.h"
#include "ops/passes/purity.h"
#include "runtime/argument_to_ivalue.h"
#include "runtime/constants.h"
#include "runtime/external_op.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {

using c10::IValue;
using ir::NodeId;
using ir::ValueId;

namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{4} << 20;        // of one constant
constexpr std::int64_t kMaxTotalBytes = std::int64_t{16} << 20;  // of all that one graph gets

// Bytes of a contiguous tensor, nothing for other layouts, symbolic sizes and what is no tensor.
std::optional<std::int64_t> contiguous_bytes(const ir::ValueType& type) {
  const auto* tensor = std::get_if<ir::TensorType>(&type);
  if (tensor == nullptr) return std::nullopt;
  std::int64_t count = 1;
  for (std::size_t d = tensor->sizes.size(); d-- > 0;) {
    const auto size = tensor->sizes[d].as_constant();
    if (!size) return std::nullopt;
    if (*size != 1 && tensor->strides[d] != ir::SymExpr(count)) return std::nullopt;
    count *= *size;
  }
  return count * ir::dtype_bytes(tensor->dtype);
}

bool has_symbols(const ir::Node& node) {
  bool found = false;
  for (const ir::Argument& argument : node.args) {
    ir::for_each_sym_expr(argument, [&](const ir::SymExpr& expr) { found |= !expr.is_constant(); });
  }
  return found;
}

class Folder {
 public:
  explicit Folder(ir::Graph& graph)
      : graph_(graph),
        known_(graph.num_values()),
        made_(graph.num_values()),
        wanted_(graph.num_values()),
        values_(graph.num_values()) {}

  Status run() {
    find_known();
    find_wanted();
    if (!any_wanted_) return Unit{};
    evaluate();
    replace();
    return ops::dead_code_elimination(graph_);
  }

 private:
  bool all_of(const ir::Node& node, const std::vector<bool>& property) const {
    bool all = true;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ValueId value) { all &= property[value.value]; });
    }
    return all;
  }

  bool can_fold(const ir::Node& node) const {
    const ops::OpInfo* row = ops::find(*node.target);
    if (row == nullptr || row->has(ops::Tag::kDataDependent) || !ops::is_pure(*node.target) ||
        node.results.empty() || has_symbols(node) || !all_of(node, known_)) {
      return false;
    }
    for (const ValueId result : node.results) {
      const auto* tensor = std::get_if<ir::TensorType>(&graph_.value(result).type);
      if (tensor == nullptr) return false;
      const bool view = row->has(ops::Tag::kView);
      const auto bytes = contiguous_bytes(*tensor);
      if (!view && (!bytes || *bytes > kMaxBytes)) return false;
    }
    return true;
  }

  // known_: depends on no input. made_: and a kernel can make it from nothing.
  void find_known() {
    for (const ir::Constant& constant : graph_.constants()) known_[constant.value.value] = true;
    for (const NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      if (!can_fold(node)) continue;
      const ops::OpInfo* row = ops::find(*node.target);
      const bool light = row->has(ops::Tag::kFactory) || row->has(ops::Tag::kPointwise) ||
                         row->has(ops::Tag::kView);
      const bool made = light && all_of(node, made_);
      for (const ValueId result : node.results) {
        known_[result.value] = true;
        made_[result.value] = made;
      }
    }
  }

  bool leaves(ValueId value) const {
    for (const ir::Output& output : graph_.outputs()) {
      if (output.value == value) return true;
    }
    for (const ir::Mutation& mutation : graph_.mutations()) {
      if (mutation.value == value) return true;
    }
    return false;
  }

  static bool is_external(const ir::Node& node) {
    const ops::OpInfo* row = ops::find(*node.target);
    return row == nullptr || row->has(ops::Tag::kExternal) ||
           (row->expression.empty() && row->lowering.empty());
  }

  void find_wanted() {
    for (const NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      bool folded = true;
      for (const ValueId result : node.results) folded &= known_[result.value] && !leaves(result);
      if (!folded || node.results.empty()) want_arguments(node, is_external(node));
    }
  }

  void want_arguments(const ir::Node& reader, bool external) {
    for (const ir::Argument& argument : reader.args) {
      ir::for_each_value(argument, [&](ValueId value) { want(value, external); });
    }
  }

  // Views stay: they cost nothing, over a constant too.
  void want(ValueId value, bool external) {
    const NodeId producer = graph_.value(value).producer;
    if (!known_[value.value] || !producer.valid() || wanted_[value.value]) return;
    const ir::Node& node = graph_.node(producer);
    if (ops::find(*node.target)->has(ops::Tag::kView)) {
      want_arguments(node, external);
    } else if (external || !made_[value.value]) {
      wanted_[value.value] = true;
      any_wanted_ = true;
    }
  }

  void evaluate() {
    const c10::InferenceMode no_inference(false);
    const KernelMode mode;
    // Whatever Python mode the caller is in, these are plain tensors.
    const c10::impl::ExcludeDispatchKeyGuard no_python(
        c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                             c10::DispatchKey::PythonDispatcher, c10::DispatchKey::PreDispatch,
                             c10::DispatchKey::Functionalize, c10::DispatchKey::Fake}));
    std::vector<bool> needed = wanted_;
    for (std::size_t k = graph_.order().size(); k-- > 0;) {
      const ir::Node& node = graph_.node(graph_.order()[k]);
      bool read = false;
      for (const ValueId result : node.results) read |= needed[result.value];
      if (!read) continue;
      for (const ir::Argument& argument : node.args) {
        ir::for_each_value(argument, [&](ValueId value) { needed[value.value] = true; });
      }
    }
    for (const ir::Constant& constant : graph_.constants()) {
      if (needed[constant.value.value] && (constant.handle || constant.bytes)) {
        values_[constant.value.value] = constant_tensor(constant, graph_.tensor(constant.value));
      }
    }
    for (const NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      bool read = false;
      for (const ValueId result : node.results) read |= needed[result.value];
      if (read && known_[node.results[0].value]) run(node);
    }
  }

  // A node that fails stays in the graph and fails when it is called, as in eager.
  void run(const ir::Node& node) {
    bool ready = true;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ValueId value) { ready &= !values_[value.value].isNone(); });
    }
    if (!ready) return;
    try {
      const c10::OperatorHandle op = find_operator(*node.target);
      const ArgumentSource source = {[&](ValueId id) { return values_[id.value]; },
                                     [](const ir::SymExpr& e) { return e.constant(); }};
      torch::jit::Stack stack;
      const auto& arguments = op.schema().arguments();
      for (std::size_t i = 0; i < node.args.size(); ++i) {
        stack.push_back(to_ivalue(node.args[i], *arguments.at(i).real_type(), source));
      }
      op.callBoxed(&stack);
      std::vector<IValue> results;
      flatten_results(stack, results);
      if (results.size() != node.results.size()) return;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (as_declared(results[i], graph_.tensor(node.results[i])))
          values_[node.results[i].value] = results[i];
      }
    } catch (const std::exception&) {
      return;
    }
  }

  static bool as_declared(const IValue& result, const ir::TensorType& type) {
    if (!result.isTensor() || !result.toTensor().defined()) return false;
    const at::Tensor& tensor = result.toTensor();
    if (tensor.scalar_type() != to_torch(type.dtype) ||
        tensor.device().type() != to_torch(type.device).type() ||
        tensor.sizes().size() != type.sizes.size()) {
      return false;
    }
    for (std::size_t d = 0; d < type.sizes.size(); ++d) {
      if (ir::SymExpr(tensor.sizes()[d]) != type.sizes[d]) return false;
    }
    return true;
  }

  void replace() {
    std::vector<ValueId> replacement(graph_.num_values());
    std::int64_t total = 0;
    for (std::uint32_t v = 0; v < wanted_.size(); ++v) {
      if (!wanted_[v] || !values_[v].isTensor()) continue;
      const ir::TensorType type = graph_.tensor(ValueId{v});
      const auto tensor = std::make_shared<at::Tensor>(values_[v].toTensor().contiguous());
      const auto size = static_cast<std::int64_t>(tensor->nbytes());
      if (total + size > kMaxTotalBytes) continue;
      total += size;
      replacement[v] = graph_.add_constant(graph_.value(ValueId{v}).name, type, nullptr, tensor);
    }
    const auto replaced = [&](ValueId value) {
      const bool found = value.value < replacement.size() && replacement[value.value].valid();
      return found ? replacement[value.value] : value;
    };
    for (const NodeId id : graph_.order()) {
      for (ir::Argument& argument : graph_.node(id).args)
        argument = ir::map_values(argument, replaced);
    }
  }

  ir::Graph& graph_;
  std::vector<bool> known_, made_, wanted_;
  std::vector<IValue> values_;
  bool any_wanted_ = false;
};

}  // namespace

Status fold_constants(ir::Graph& graph) { return Folder(graph).run(); }

}  // namespace triptych::runtime
