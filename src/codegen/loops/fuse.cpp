// The order of work: nodes in program order; each kernel tries to join the kernels that make its
// inputs, then its siblings, until nothing changes. A kernel that has grown is the host of what
// comes later, so that a chain of n kernels costs n small steps.
#include "codegen/loops/fuse.h"

#include <algorithm>
#include <map>

#include "codegen/loops/cleanup.h"
#include "codegen/loops/fusion/fusion_graph.h"
#include "codegen/loops/fusion/profitability.h"
#include "codegen/loops/fusion/splice.h"
#include "codegen/loops/kernel_rewrite.h"

namespace triptych::loops {
namespace {

using NodeIndex = FusionGraph::NodeIndex;

constexpr std::size_t kSiblingsTried =
    4;  // per shared input: bounds the work on values that everybody reads
constexpr double kSiblingShare = 0.25;  // of the smaller kernel's traffic must be saved

class Fuser {
 public:
  Fuser(LoopProgram program, const mapping::Traits& traits, const FuseOptions& options)
      : graph_(std::move(program)),
        options_(options),
        profit_(graph_.graph(), traits),
        context_{.graph = graph_.graph(), .names = names_, .local_limit = profit_.local_limit()} {}

  LoopProgram run() {
    for (NodeIndex i = 0; i < graph_.size(); ++i) {
      labels_.push_back(graph_.node(i).group.kernel.name);
      origins_.push_back(std::move(graph_.node(i).group.kernel.origins));
    }
    versions_.assign(graph_.size(), 0);
    for (NodeIndex i = graph_.size(); i-- > 0;) graph_.drop_if_unread(i);
    for (NodeIndex i = 0; options_.fuse && i < graph_.size(); ++i) {
      if (graph_.node(i).alive && graph_.node(i).is_kernel) grow(i);
    }
    std::size_t number = 0;
    std::vector<NodeIndex> order;
    for (NodeIndex i = 0; i < graph_.size(); ++i) {
      if (graph_.node(i).alive && graph_.node(i).is_kernel) order.push_back(i);
    }
    for (NodeIndex i : order) tidy(i);
    std::stable_sort(order.begin(), order.end(), [&](NodeIndex a, NodeIndex b) {
      return graph_.node(a).position < graph_.node(b).position;
    });
    for (NodeIndex i : order) name(i, number++);
    return graph_.finish();
  }

 private:
  void grow(NodeIndex at) {
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeIndex producer : producers(at)) {
        if (!try_producer(producer, at)) continue;
        changed = true;
        break;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeIndex sibling : siblings(at)) {
        if (!try_sibling(sibling, at)) continue;
        changed = true;
        break;
      }
    }
  }

  // Kernels that make inputs of `at`, the largest saving first.
  std::vector<NodeIndex> producers(NodeIndex at) {
    std::map<NodeIndex, double> saved;
    for (ValueId value : graph_.node(at).inputs) {
      const NodeIndex from = graph_.producer(value);
      if (from == FusionGraph::kNone || from == at || !graph_.node(from).is_kernel) continue;
      saved[from] += profit_.bytes(value);
    }
    std::vector<NodeIndex> result;
    for (const auto& [node, bytes] : saved) result.push_back(node);
    std::stable_sort(result.begin(), result.end(),
                     [&](NodeIndex a, NodeIndex b) { return saved[a] > saved[b]; });
    return result;
  }

  std::vector<NodeIndex> siblings(NodeIndex at) {
    std::vector<NodeIndex> result;
    for (ValueId value : graph_.node(at).inputs) {
      const std::vector<NodeIndex> readers = graph_.readers(value);
      std::size_t tried = 0;
      for (std::size_t i = readers.size(); i-- > 0 && tried < kSiblingsTried;) {
        if (readers[i] >= at || !graph_.node(readers[i]).is_kernel)
          continue;  // later ones will try
        ++tried;
        if (std::find(result.begin(), result.end(), readers[i]) == result.end())
          result.push_back(readers[i]);
      }
    }
    return result;
  }

  void log(NodeIndex producer, NodeIndex consumer, bool fused, std::string reason) {
    if (options_.log == nullptr) return;
    options_.log->push_back({labels_[producer], labels_[consumer], fused, std::move(reason)});
  }

  // L1 and L2: where the joint kernel would stand; nullopt with `why` when nowhere.
  std::optional<double> place(NodeIndex a, NodeIndex b, std::string& why) {
    const OrderWindow window = graph_.window(a, b);
    why = check_order(window);
    if (!why.empty()) return std::nullopt;
    const double first = graph_.node(a).position;
    const double second = graph_.node(b).position;
    const auto inside = [&](double p) { return window.earliest < p && p < window.latest; };
    double position = inside(second) ? second : first;
    if (!inside(position)) position = (window.earliest + window.latest) / 2;
    if (!inside(position)) {
      why = "L1: no room between the steps around";
      return std::nullopt;
    }
    why = check_effects(graph_.node(a).group.has_checks, first, position, graph_.barriers());
    if (why.empty())
      why = check_effects(graph_.node(b).group.has_checks, second, position, graph_.barriers());
    if (!why.empty()) return std::nullopt;
    return position;
  }

  // Values that `a` stores and `b` loads by name. Refuses (nullopt) when b reads a view of another
  // dtype.
  std::optional<std::vector<ValueId>> passed(const Group& a, const Group& b) {
    std::vector<ValueId> result;
    for (ValueId value : b.values) {
      if (!value.valid() || !b.reads(value)) continue;
      const ValueId root = graph_.root(value);
      if (!a.writes(root)) continue;
      if (root != value) return std::nullopt;
      result.push_back(value);
    }
    std::stable_sort(result.begin(), result.end(),
                     [&](ValueId x, ValueId y) { return profit_.bytes(x) > profit_.bytes(y); });
    return result;
  }

  bool try_producer(NodeIndex producer, NodeIndex consumer) {
    if (refused_before(producer, consumer)) return false;
    std::string why;
    const bool fused = fuse_producer(producer, consumer, why);
    log(producer, consumer, fused, why);
    if (!fused) remember_refusal(producer, consumer);
    return fused;
  }

  bool fuse_producer(NodeIndex producer, NodeIndex consumer, std::string& why) {
    Group& from = graph_.node(producer).group;
    Group& to = graph_.node(consumer).group;
    const auto values = passed(from, to);
    if (!values || values->empty()) {
      why = "L3: the value is read through a view of another dtype";
      return false;
    }
    why = too_large(producer, consumer);
    if (!why.empty()) return false;
    bool kept = false;
    for (ValueId value : graph_.node(producer).outputs) {
      kept = kept || graph_.needed_outside(value, producer, consumer);
    }
    if (profit_.free(from) && copy_into(producer, consumer, why)) {
      why = "computed from nothing: recomputed";
      return true;
    }
    const auto position = place(producer, consumer, why);
    if (position && join(producer, consumer, *values, kept, *position, why)) return true;
    if (kept && profit_.cheap(from) && copy_into(producer, consumer, why)) {
      why = "cheap: recomputed";
      return true;
    }
    return false;
  }

  std::string too_large(NodeIndex a, NodeIndex b) {
    const auto buffers = [&](NodeIndex i) {
      return graph_.node(i).inputs.size() + graph_.node(i).outputs.size();
    };
    return profit_.too_large(graph_.node(a).group, graph_.node(b).group, buffers(a) + buffers(b));
  }

  // One kernel of both, by the first way that is legal.
  bool join(NodeIndex producer, NodeIndex consumer, const std::vector<ValueId>& values, bool kept,
            double position, std::string& why) {
    Group& from = graph_.node(producer).group;
    Group& to = graph_.node(consumer).group;
    const bool broadcast = to.pointwise && from.pointwise && loops_of(to) > loops_of(from);
    if (to.pointwise && !broadcast && epilogue(producer, consumer, values, position, why))
      return true;
    if (from.pointwise && prologue(producer, consumer, values, kept, position, why)) return true;
    if (to.pointwise && broadcast && epilogue(producer, consumer, values, position, why))
      return true;
    if (from.pointwise) return false;
    for (ValueId value : values) {
      const Splice splice = splice_rows(from, to, value, context_);
      if (!splice.done) {
        why = splice.why;
        continue;
      }
      finish_join(producer, consumer, std::move(from), position);
      why = "one row after the other: the row stays in cache";
      return true;
    }
    return false;
  }

  double loops_of(const Group& group) const {
    double count = 1;
    for (const Loop* loop : outer_nest(group.kernel).loops) count *= profit_.evaluate(loop->extent);
    return count;
  }

  bool epilogue(NodeIndex producer, NodeIndex consumer, const std::vector<ValueId>& values,
                double position, std::string& why) {
    Group& from = graph_.node(producer).group;
    for (ValueId value : values) {
      if (std::string reason = broadcast_pays(from, graph_.node(consumer).group, value);
          !reason.empty()) {
        why = std::move(reason);
        continue;
      }
      const Splice splice = splice_epilogue(from, graph_.node(consumer).group, value, context_);
      if (!splice.done) {
        why = splice.why;
        continue;
      }
      finish_join(producer, consumer, std::move(from), position);
      why = "epilogue: the value is not read back";
      return true;
    }
    return false;
  }

  // A reader with loops that the value lacks runs them inside the iteration that stores the value.
  // Those loops should run along memory, and must not take the place of all parallelism.
  std::string broadcast_pays(Group& host, const Group& guest, ValueId value) {
    const NestView nest = outer_nest(guest.kernel);
    std::vector<Symbol> extra;
    double extra_iterations = 1;
    const BufferId buffer = guest.find(value);
    const SymExpr* load_index = nullptr;
    const SymExpr* store_index = nullptr;
    for (const Statement& statement : *nest.body) {
      if (const auto* load = std::get_if<Instruction>(&statement.data)) {
        if (load->op == ScalarOp::kLoad && load->buffer == buffer) load_index = &load->index;
      } else if (const auto* store = std::get_if<Store>(&statement.data)) {
        store_index = &store->index;
      }
    }
    if (load_index == nullptr || store_index == nullptr) return {};
    for (const Loop* loop : nest.loops) {
      if (load_index->depends_on(loop->variable)) continue;
      extra.push_back(loop->variable);
      extra_iterations *= profit_.evaluate(loop->extent);
    }
    if (extra.empty()) return {};
    const Affine affine = affine_in(*store_index, extra);
    const bool along = affine.linear &&
                       std::any_of(affine.terms.begin(), affine.terms.end(),
                                   [](const auto& term) { return term.coefficient == SymExpr(1); });
    if (!along) return "the broadcast dimension does not run along memory";
    double rows = 1;
    for (const Loop* loop : outer_nest(host.kernel).loops) rows *= profit_.evaluate(loop->extent);
    if (rows < 4 && extra_iterations > static_cast<double>(context_.serial_limit)) {
      return "too few rows: parallelism would be lost";
    }
    return {};
  }

  bool prologue(NodeIndex producer, NodeIndex consumer, const std::vector<ValueId>& values,
                bool kept, double position, std::string& why) {
    Group& from = graph_.node(producer).group;
    Group& to = graph_.node(consumer).group;
    const bool cheap = profit_.cheap(from) || profit_.free(from);
    double factor = 0;
    for (ValueId value : values) factor = std::max(factor, profit_.recompute_factor(to, value));
    PrologueOptions options{.keep_stores = kept, .recompute = cheap || factor <= 1};
    if (factor >= 1e9) {
      why = "L3: the value is read at an index that is not linear";
      return false;
    }
    if (cheap && factor > 64 && pointwise_costs(from).loads > 1) options.recompute = false;
    Group trial = options.recompute ? Group() : to;
    Group& host = options.recompute ? to : trial;
    const Splice splice = splice_prologue(host, from, options, context_);
    if (!splice.done) {
      why = splice.why;
      return false;
    }
    why = options.recompute ? "prologue: the value is not stored and read"
                            : "prologue: held in a row-local buffer";
    finish_join(producer, consumer, std::move(host), position);
    return true;
  }

  // The consumer's node goes on as the joint kernel.
  void finish_join(NodeIndex producer, NodeIndex consumer, Group joint, double position) {
    std::vector<std::string> origins = std::move(origins_[producer]);
    std::move(origins_[consumer].begin(), origins_[consumer].end(), std::back_inserter(origins));
    origins_[consumer] = std::move(origins);
    graph_.node(consumer).group = std::move(joint);
    graph_.merge(producer, consumer, position);
    ++versions_[consumer];
    drop_dead_stores(consumer);
  }

  // Values that only this kernel used: nothing reads their memory any more.
  void drop_dead_stores(NodeIndex at) {
    Group& group = graph_.node(at).group;
    bool any = false;
    for (ValueId value : graph_.node(at).outputs)
      any = any || !graph_.needed_outside(value, at, at);
    if (!any) return;
    remove_stores(group.kernel, [&](BufferId id) {
      const ValueId value = group.values[id.value];
      return !value.valid() || graph_.needed_outside(value, at, at);
    });
    graph_.refresh(at);
  }

  // Puts the producer's work into the consumer and lets the producer live as long as others read
  // it.
  bool copy_into(NodeIndex producer, NodeIndex consumer, std::string& why) {
    Group& to = graph_.node(consumer).group;
    const Splice splice = splice_prologue(to, graph_.node(producer).group, {}, context_);
    if (!splice.done) {
      why = splice.why;
      return false;
    }
    origins_[consumer].insert(origins_[consumer].begin(), origins_[producer].begin(),
                              origins_[producer].end());
    graph_.refresh(consumer);
    graph_.drop_if_unread(producer, true);
    ++versions_[consumer];
    return true;
  }

  bool try_sibling(NodeIndex sibling, NodeIndex at) {
    if (refused_before(sibling, at)) return false;
    std::string why;
    const bool fused = fuse_sibling(sibling, at, why);
    log(sibling, at, fused, why);
    if (!fused) remember_refusal(sibling, at);
    return fused;
  }

  bool fuse_sibling(NodeIndex sibling, NodeIndex at, std::string& why) {
    Group& first = graph_.node(sibling).group;
    Group& second = graph_.node(at).group;
    const auto value = shared_input(sibling, at, why);
    if (!value) return false;
    why = too_large(sibling, at);
    if (!why.empty()) return false;
    const auto position = place(sibling, at, why);
    if (!position) return false;
    Splice splice;
    if (second.pointwise) {
      splice = splice_sibling(first, second, *value, context_);
      if (splice.done) finish_join(sibling, at, std::move(first), *position);
    } else if (first.pointwise) {
      splice = splice_sibling(second, first, *value, context_);
      if (splice.done) finish_join(sibling, at, std::move(second), *position);
    } else {
      splice = splice_rows(first, second, *value, context_);
      if (splice.done) finish_join(sibling, at, std::move(first), *position);
    }
    why = splice.done ? "siblings: a shared input is read once" : splice.why;
    return splice.done;
  }

  // The largest input of both that makes it worth while; neither may read what the other makes.
  std::optional<ValueId> shared_input(NodeIndex a, NodeIndex b, std::string& why) {
    const Group& first = graph_.node(a).group;
    const Group& second = graph_.node(b).group;
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      for (ValueId value : graph_.node(to).inputs) {
        if (graph_.producer(value) != from) continue;
        why = "L5: one reads what the other makes";
        return std::nullopt;
      }
    }
    std::optional<ValueId> best;
    double saved = 0;
    double traffic[2] = {0, 0};
    for (ValueId value : first.values) traffic[0] += value.valid() ? profit_.bytes(value) : 0;
    for (ValueId value : second.values) {
      if (!value.valid()) continue;
      traffic[1] += profit_.bytes(value);
      if (!second.reads(value) || !first.reads(value)) continue;
      saved += profit_.bytes(value);
      if (!best || profit_.bytes(value) > profit_.bytes(*best)) best = value;
    }
    if (!best || saved < kSiblingShare * std::min(traffic[0], traffic[1])) {
      why = "siblings share too little";
      return std::nullopt;
    }
    return best;
  }

  bool refused_before(NodeIndex a, NodeIndex b) const {
    const auto found = refusals_.find({a, b});
    return found != refusals_.end() && found->second == std::pair(versions_[a], versions_[b]);
  }
  void remember_refusal(NodeIndex a, NodeIndex b) {
    refusals_[{a, b}] = {versions_[a], versions_[b]};
  }

  // Stores of values nobody needs vanish, then what led to them; the rest gets its canonical form.
  void tidy(NodeIndex at) {
    Group& group = graph_.node(at).group;
    Kernel& kernel = group.kernel;
    drop_dead_stores(at);
    if (!options_.eager_rounding) remove_rounding(kernel);
    eliminate_common(kernel);
    if (!group.pointwise) {
      merge_sibling_loops(kernel);
      forward_locals(kernel);
      eliminate_common(kernel);
    }
    eliminate_dead(kernel);
    normalize_loops(kernel);
    const std::vector<BufferId> order = order_buffers(kernel);
    std::vector<ValueId> values;
    for (BufferId old : order) values.push_back(group.values[old.value]);
    group.values = std::move(values);
    canonicalize(kernel);
    keep_used_symbols(kernel);
    graph_.refresh(at);
  }

  void keep_used_symbols(Kernel& kernel) const {
    if (kernel.symbols.empty()) return;
    std::vector<Symbol> used;
    const auto collect = [&](const SymExpr& e) {
      for (Symbol symbol : e.symbols()) used.push_back(symbol);
    };
    for (const Buffer& buffer : kernel.buffers) collect(buffer.extent);
    for_each_index(std::as_const(kernel.body), collect);
    kernel.symbols.clear();
    for (const ir::SymbolInfo& symbol : graph_.graph().symbols()) {
      if (std::find(used.begin(), used.end(), symbol.name) != used.end())
        kernel.symbols.push_back(symbol.name);
    }
  }

  // k3_add_layer_norm: the last few nodes computed, without their numbers.
  void name(NodeIndex at, std::size_t number) {
    std::vector<std::string> stems;
    for (const std::string& origin : origins_[at]) {
      std::string stem = origin.substr(0, origin.find_last_not_of("0123456789") + 1);
      while (!stem.empty() && stem.back() == '_') stem.pop_back();
      if (!stem.empty() && (stems.empty() || stems.back() != stem))
        stems.push_back(std::move(stem));
    }
    std::string text = "k" + std::to_string(number);
    for (std::size_t i = stems.size() > 3 ? stems.size() - 3 : 0; i < stems.size(); ++i)
      text += "_" + stems[i];
    Kernel& kernel = graph_.node(at).group.kernel;
    kernel.name = std::move(text);
    kernel.origins = std::move(origins_[at]);
  }

  FusionGraph graph_;
  const FuseOptions& options_;
  Profitability profit_;
  FreshNames names_;
  SpliceContext context_;
  std::vector<std::vector<std::string>> origins_;  // per node
  std::vector<std::string> labels_;
  std::vector<std::uint32_t> versions_;
  std::map<std::pair<NodeIndex, NodeIndex>, std::pair<std::uint32_t, std::uint32_t>> refusals_;
};

}  // namespace

Result<LoopProgram> fuse(LoopProgram program, const mapping::Traits& traits,
                         const FuseOptions& options) {
  return Fuser(std::move(program), traits, options).run();
}

}  // namespace triptych::loops
