// Checks a kernel against the rules at the head of kernel.h (1-5), and mapped kernels against M1-M4
// there.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/loops/kernel.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), scalars_(kernel.num_scalars) {}

  std::vector<Error> run() {
    buffers();
    for (Symbol symbol : kernel_.symbols) names_.insert(symbol);
    top_level();
    body(kernel_.body);
    local_stores();
    for (const Buffer& buffer : kernel_.buffers) {
      if (buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kLocal) continue;
      const auto index = static_cast<std::uint32_t>(&buffer - &kernel_.buffers.items()[0]);
      if (!stored_[index] && !loaded_[index])
        report("2", "buffer %" + buffer.name + " is never used");
    }
    return std::move(errors_);
  }

 private:
  struct ScalarState {
    bool defined = false;  // anywhere above
    bool in_scope = false;
    bool loaded = false;   // a load is among what it is made of
    bool checked = false;  // a Check in scope depends on it
    bool clamped = false;
    DType dtype = DType::kF32;
    std::vector<ScalarId> args;
  };

  void report(std::string_view rule, std::string message) {
    errors_.push_back(internal_error("kernel.verify", "kernel " + kernel_.name + ", rule " +
                                                          std::string(rule) + ": " + message));
  }
  static std::string name(ScalarId id) { return "v" + std::to_string(id.value); }
  bool in_range(ScalarId id) const { return id.value < scalars_.size(); }
  bool in_range(BufferId id) const { return id.value < kernel_.buffers.size(); }

  void buffers() {
    std::set<std::string> seen;
    bool locals = false;
    for (const Buffer& buffer : kernel_.buffers) {
      if (!seen.insert(buffer.name).second)
        report("2", "buffer %" + buffer.name + " is named twice");
      if (ir::is_complex(buffer.dtype)) report("5", "buffer %" + buffer.name + " is complex");
      if (locals && buffer.kind != Buffer::Kind::kLocal) {
        report("2", "parameter %" + buffer.name + " stands behind a local");
      }
      locals = locals || buffer.kind == Buffer::Kind::kLocal;
    }
    stored_.assign(kernel_.buffers.size(), false);
    loaded_.assign(kernel_.buffers.size(), false);
    store_index_.assign(kernel_.buffers.size(), std::nullopt);
  }

  // M1: the parallel loop is the only loop or store of the kernel's body.
  void top_level() {
    std::size_t parallel = 0;
    std::size_t others = 0;
    for (const Statement& statement : kernel_.body) {
      const auto* loop = std::get_if<Loop>(&statement.data);
      if (loop != nullptr && loop->schedule == Schedule::kParallel) {
        ++parallel;
        if (!loop->reductions.empty()) report("M1", "parallel loop with a reduction");
      } else if (!std::holds_alternative<Instruction>(statement.data)) {
        ++others;
      }
    }
    if (parallel > 1 || (parallel == 1 && others > 0)) {
      report("M1", "a parallel loop must be the only loop, store or check of the body");
    }
  }

  void define(ScalarId id, DType dtype) {
    if (!in_range(id)) return report("1", name(id) + " is not below num_scalars");
    ScalarState& state = scalars_[id.value];
    if (state.defined) report("1", name(id) + " is defined twice");
    state.defined = state.in_scope = true;
    state.dtype = dtype;
    scope_.push_back(id);
  }

  bool use(ScalarId id) {
    if (in_range(id) && scalars_[id.value].in_scope) return true;
    report("1", name(id) + " is used where it is not defined");
    return false;
  }
  DType type(ScalarId id) const { return in_range(id) ? scalars_[id.value].dtype : DType::kF32; }

  void index(const SymExpr& e) {
    for (Symbol symbol : e.symbols()) {
      if (names_.contains(symbol)) continue;
      const auto scalar = scalar_of_symbol(symbol);
      if (!scalar) {
        report("2", "index " + e.str() + " uses " + symbol.str() + ", which is not in scope");
        continue;
      }
      if (!use(*scalar)) continue;
      const ScalarState& state = scalars_[scalar->value];
      if (state.dtype != DType::kI64) report("2", "index scalar " + symbol.str() + " is not i64");
      if (state.loaded && !state.checked && !state.clamped) {
        report("3", "indirect index " + symbol.str() + " is used without a check");
      }
    }
  }

  void body(const std::vector<Statement>& statements) {
    const std::size_t scope = scope_.size();
    const std::size_t checked = checked_.size();
    for (const Statement& statement : statements) {
      if (const auto* loop_ = std::get_if<Loop>(&statement.data)) {
        loop(*loop_);
      } else if (const auto* instruction_ = std::get_if<Instruction>(&statement.data)) {
        instruction(*instruction_);
      } else if (const auto* store_ = std::get_if<Store>(&statement.data)) {
        store(*store_);
      } else {
        check(std::get<Check>(statement.data));
      }
    }
    for (std::size_t i = scope; i < scope_.size(); ++i) scalars_[scope_[i].value].in_scope = false;
    scope_.resize(scope);
    for (std::size_t i = checked; i < checked_.size(); ++i)
      scalars_[checked_[i].value].checked = false;
    checked_.resize(checked);
  }

  void loop(const Loop& loop) {
    index(loop.extent);
    schedule(loop);
    if (!names_.insert(loop.variable).second || !used_variables_.insert(loop.variable).second) {
      report("2", "loop variable " + loop.variable.str() + " is used twice");
    }
    loops_.push_back(&loop);
    body(loop.body);
    inputs(loop);
    loops_.pop_back();
    names_.erase(loop.variable);
    for (const Reduction& reduction : loop.reductions) {
      if (static_cast<int>(reduction.results.size()) != reduce_results(reduction.op)) {
        report("1", std::string(reduce_op_name(reduction.op)) + " has a wrong number of results");
      }
      if (is_half(reduction.dtype)) report("5", "reduction in a 16-bit float");
      for (std::size_t i = 0; i < reduction.results.size(); ++i) {
        define(reduction.results[i], reduction_result_dtype(reduction.op, reduction.dtype, i));
        if (in_range(reduction.results[i])) scalars_[reduction.results[i].value].loaded = true;
      }
    }
  }

  // A reduction's input is defined in the loop's body: it has been defined, and it is no longer in
  // scope.
  void inputs(const Loop& loop) {
    for (const Reduction& reduction : loop.reductions) {
      const ScalarId id = reduction.input;
      const bool fine = in_range(id) && scalars_[id.value].defined;
      if (!fine) {
        report("1", "reduction input " + name(id) + " is not defined in the loop");
      } else if (scalars_[id.value].dtype != reduction.dtype) {
        report("5", "reduction input " + name(id) + " is not of the accumulator's dtype");
      }
    }
  }

  void schedule(const Loop& loop) {
    if (loop.schedule == Schedule::kParallel && !loops_.empty())
      report("M1", "nested parallel loop");
    if (loop.width < 1 || loop.unroll < 1) report("M2", "width and unroll must be positive");
    for (const Loop* outer : loops_) {
      if (outer->width == 1) continue;
      if (loop.width != 1) report("M2", "vector loop inside a vector loop");
      if (loop.extent.depends_on(outer->variable)) {
        report("M3", "extent of a loop inside a vector loop depends on the vector variable");
      }
    }
  }

  void instruction(const Instruction& instruction) {
    const auto& op = info(instruction.op);
    const bool leaf = op.arity < 0;
    bool usable = true;
    for (ScalarId arg : instruction.args) usable = use(arg) && usable;
    if (!leaf && static_cast<int>(instruction.args.size()) != op.arity) {
      report("1", std::string(op.name) + " has a wrong number of arguments");
      usable = false;
    }
    if (instruction.op == ScalarOp::kIndex) index(instruction.index);
    if (instruction.op == ScalarOp::kLoad) load(instruction);
    if (usable) types(instruction);
    define(instruction.result, instruction.dtype);
    if (!in_range(instruction.result)) return;
    ScalarState& state = scalars_[instruction.result.value];
    state.args = instruction.args;
    state.loaded = instruction.op == ScalarOp::kLoad;
    for (ScalarId arg : instruction.args) {
      state.loaded = state.loaded || (in_range(arg) && scalars_[arg.value].loaded);
    }
    state.clamped = clamps(instruction);
  }

  // min(max(x, low), high), in either order: bounded, so it needs no check.
  bool clamps(const Instruction& instruction) const {
    const bool outer = instruction.op == ScalarOp::kMin || instruction.op == ScalarOp::kMax;
    if (!outer || instruction.args.size() != 2) return false;
    return std::any_of(instruction.args.begin(), instruction.args.end(), [&](ScalarId arg) {
      return in_range(arg) && bounds_.contains({arg.value, instruction.op == ScalarOp::kMin});
    });
  }

  void types(const Instruction& instruction) {
    const ScalarOp op = instruction.op;
    const auto wrong = [&](const std::string& what) {
      report("5", name(instruction.result) + " = " + std::string(info(op).name) + ": " + what);
    };
    if (ir::is_complex(instruction.dtype)) wrong("complex dtype");
    if (op == ScalarOp::kMin || op == ScalarOp::kMax) {
      bounds_.insert({instruction.result.value, op == ScalarOp::kMax});
    }
    if (op == ScalarOp::kConstant || op == ScalarOp::kCast || op == ScalarOp::kBitcast) return;
    if (op == ScalarOp::kLoad) return;
    if (is_half(instruction.dtype)) wrong("arithmetic in a 16-bit float");
    std::vector<DType> args;
    for (ScalarId arg : instruction.args) args.push_back(type(arg));
    const auto implied = implied_dtype(op, args);
    if (implied && *implied != instruction.dtype) {
      wrong("dtype " + std::string(ir::dtype_name(instruction.dtype)) + ", expected " +
            std::string(ir::dtype_name(*implied)));
    }
    const std::size_t first = op == ScalarOp::kSelect ? 1 : 0;
    if (op == ScalarOp::kSelect && args[0] != DType::kBool) wrong("condition is not bool");
    for (std::size_t i = first; i < args.size(); ++i) {
      if (args[i] != args[first]) wrong("operands differ in dtype");
      if (is_half(args[i])) wrong("operand is a 16-bit float");
    }
    if (info(op).floats_only && !args.empty() && !ir::is_floating(args[0]))
      wrong("operand is no float");
  }

  void load(const Instruction& instruction) {
    index(instruction.index);
    if (!in_range(instruction.buffer)) return report("2", "load from an unknown buffer");
    const Buffer& buffer = kernel_.buffers[instruction.buffer];
    const std::uint32_t id = instruction.buffer.value;
    if (buffer.dtype != instruction.dtype)
      report("5", "load of %" + buffer.name + " in another dtype");
    if (buffer.kind == Buffer::Kind::kOutput) report("4", "load from output %" + buffer.name);
    if (buffer.kind == Buffer::Kind::kLocal && !stored_[id]) {
      report("4", "local %" + buffer.name + " is loaded before it is stored");
    }
    if (buffer.kind == Buffer::Kind::kWorkspace && stored_[id]) {
      report("4", "workspace %" + buffer.name + " is stored and loaded by one kernel");
    }
    if (buffer.kind == Buffer::Kind::kInOut) same_index(instruction.buffer, instruction.index);
    loaded_[id] = true;
    if (buffer.kind == Buffer::Kind::kLocal) local_access(instruction.buffer);
  }

  void store(const Store& store) {
    index(store.index);
    if (!in_range(store.buffer)) return report("2", "store to an unknown buffer");
    const Buffer& buffer = kernel_.buffers[store.buffer];
    const std::uint32_t id = store.buffer.value;
    if (use(store.value) && type(store.value) != buffer.dtype) {
      report("5", "store to %" + buffer.name + " of another dtype");
    }
    if (buffer.kind == Buffer::Kind::kInput) report("4", "store to input %" + buffer.name);
    if (buffer.kind == Buffer::Kind::kWorkspace && loaded_[id]) {
      report("4", "workspace %" + buffer.name + " is stored and loaded by one kernel");
    }
    if (buffer.kind == Buffer::Kind::kInOut) same_index(store.buffer, store.index);
    stored_[id] = true;
    bool indirect = false;
    for (Symbol symbol : store.index.symbols()) {
      indirect = indirect || (!names_.contains(symbol) && scalar_of_symbol(symbol).has_value());
    }
    if (indirect) return;
    if (buffer.kind == Buffer::Kind::kLocal) {
      local_access(store.buffer);
      local_stores_.push_back({store, loops_});
    } else {
      distinct_indices(store, loops_, 0);
    }
  }

  // Every loop from the `first` on writes elements of its own.
  void distinct_indices(const Store& store, const std::vector<const Loop*>& loops,
                        std::size_t first) {
    for (std::size_t i = first; i < loops.size(); ++i) {
      if (!store.index.depends_on(loops[i]->variable) && loops[i]->extent != SymExpr(1)) {
        report("4", "iterations of " + loops[i]->variable.str() + " store %" +
                        kernel_.buffers[store.buffer].name + " at the same index " +
                        store.index.str());
      }
    }
  }

  // A local is private to the loops that surround all of its uses: the iterations of those may
  // reuse it.
  void local_access(BufferId buffer) {
    auto [found, fresh] = local_loops_.try_emplace(buffer.value, loops_);
    std::vector<const Loop*>& common = found->second;
    const std::size_t shorter = std::min(common.size(), loops_.size());
    std::size_t same = 0;
    while (same < shorter && common[same] == loops_[same]) ++same;
    common.resize(same);
  }

  void local_stores() {
    for (const auto& [store, loops] : local_stores_) {
      const std::size_t common = local_loops_.at(store.buffer.value).size();
      distinct_indices(store, loops, common);
    }
  }

  void same_index(BufferId buffer, const SymExpr& index) {
    auto& seen = store_index_[buffer.value];
    if (!seen) seen = index;
    if (*seen != index) {
      report("4", "in-place buffer %" + kernel_.buffers[buffer].name + " is used at two indices");
    }
  }

  void check(const Check& check) {
    if (!use(check.condition)) return;
    if (type(check.condition) != DType::kBool) report("5", "check of a condition that is not bool");
    std::vector<ScalarId> work = {check.condition};
    while (!work.empty()) {
      const ScalarId id = work.back();
      work.pop_back();
      ScalarState& state = scalars_[id.value];
      if (state.checked) continue;
      state.checked = true;
      checked_.push_back(id);
      for (ScalarId arg : state.args) {
        if (in_range(arg)) work.push_back(arg);
      }
    }
  }

  const Kernel& kernel_;
  std::vector<ScalarState> scalars_;
  std::vector<ScalarId> scope_, checked_;
  std::vector<const Loop*> loops_;
  std::set<Symbol> names_, used_variables_;
  std::set<std::pair<std::uint32_t, bool>> bounds_;  // scalar, made by max (else by min)
  std::vector<bool> stored_, loaded_;
  std::vector<std::optional<SymExpr>> store_index_;
  std::map<std::uint32_t, std::vector<const Loop*>> local_loops_;
  std::vector<std::pair<Store, std::vector<const Loop*>>> local_stores_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> verify_kernel(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace triptych::loops
