// for r { for c { store %t[r, c] } ... for d { load %t[r, d] } }   becomes
// for r { for c { store %t[r, c]; store %row[c] } ... for d { load %row[d] } }
#include <algorithm>

#include "codegen/loops/fusion/splice.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

class Holder {
 public:
  Holder(Group& group, ValueId value, SpliceContext& context)
      : group_(group), kernel_(group.kernel), buffer_(group.find(value)), context_(context) {}

  std::string run() {
    forward_visible();
    if (load_sites(kernel_, buffer_).empty()) return {};
    const std::vector<Site> stores = store_sites(kernel_, buffer_);
    if (stores.size() != 1) return "L5: a value stored in pieces is read again";
    if (std::string why = common_loops(stores[0]); !why.empty()) return why;
    if (std::string why = solve_loads(stores[0]); !why.empty()) return why;
    if (std::string why = check_size(); !why.empty()) return why;
    rewrite();
    return {};
  }

 private:
  void forward_visible() {
    std::map<ScalarId, ScalarId> replacements;
    for (const Site& site : load_sites(kernel_, buffer_)) {
      if (const auto stored = visible_store(site, buffer_, site.index())) {
        replacements[std::get<Instruction>(site.statement().data).result] = *stored;
      }
    }
    if (replacements.empty()) return;
    replace_scalars(kernel_, replacements);
    erase_loads(kernel_.body, replacements);
  }

  static void erase_loads(Body& body, const std::map<ScalarId, ScalarId>& gone) {
    std::erase_if(body, [&](const Statement& statement) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      return load != nullptr && load->op == ScalarOp::kLoad && gone.contains(load->result);
    });
    for (Statement& statement : body) {
      if (auto* loop = std::get_if<Loop>(&statement.data)) erase_loads(loop->body, gone);
    }
  }

  // The loops around the store and all loads; the store stands before each load in them.
  std::string common_loops(const Site& store) {
    common_ = store.loops.size();
    for (const Site& load : load_sites(kernel_, buffer_)) {
      std::size_t same = 0;
      while (same < std::min(common_, load.loops.size()) && store.loops[same] == load.loops[same])
        ++same;
      common_ = same;
    }
    for (const Site& load : load_sites(kernel_, buffer_)) {
      if (store.bodies[common_].second >= load.bodies[common_].second) {
        return "L5: the value is read before it is stored";
      }
    }
    return {};
  }

  static std::vector<Symbol> variables(const Site& site) {
    std::vector<Symbol> result;
    for (const Loop* loop : site.loops) result.push_back(loop->variable);
    return result;
  }

  std::string solve_loads(const Site& store) {
    const Affine stored = affine_in(store.index(), variables(store));
    if (!stored.linear) return "L5: the row's index is not linear";
    for (std::size_t i = common_; i < store.loops.size(); ++i) {
      const Loop& loop = *store.loops[i];
      inner_.push_back({loop.variable, loop.extent, stored.coefficient(loop.variable)});
    }
    for (const Site& load : load_sites(kernel_, buffer_)) {
      const Affine loaded = affine_in(load.index(), variables(load));
      if (!loaded.linear) return "L5: the row is read at an index that is not linear";
      SymExpr target = loaded.rest - stored.rest;
      std::vector<Dim> loops;
      for (std::size_t i = 0; i < load.loops.size(); ++i) {
        const Symbol variable = load.loops[i]->variable;
        if (i < common_) {
          if (loaded.coefficient(variable) != stored.coefficient(variable)) {
            return "L5: the row read is not the row stored";
          }
          continue;
        }
        loops.push_back({variable, load.loops[i]->extent, SymExpr()});
        target += loaded.coefficient(variable) * SymExpr::symbol(variable);
      }
      const IndexMap map = solve_index(inner_, SymExpr(), target, loops);
      if (!map.ok) return "L5: " + map.why;
      places_.push_back(
          {std::get<Instruction>(load.statement().data).result, row_index(map.values)});
    }
    return {};
  }

  // Position in the local: the loops around the store, the innermost one contiguous.
  SymExpr row_index(const std::vector<std::pair<Symbol, SymExpr>>& values) const {
    SymExpr index;
    SymExpr stride(1);
    for (std::size_t i = inner_.size(); i-- > 0;) {
      const auto found = std::find_if(values.begin(), values.end(),
                                      [&](const auto& v) { return v.first == inner_[i].variable; });
      index += found->second * stride;
      stride *= inner_[i].extent;
    }
    return index;
  }

  std::string check_size() {
    const auto count = iterations(inner_).as_constant();
    std::int64_t used = 0;
    for (const Buffer& buffer : kernel_.buffers) {
      if (buffer.kind != Buffer::Kind::kLocal) continue;
      used += buffer.extent.as_constant().value_or(0) * ir::dtype_bytes(buffer.dtype);
    }
    if (count && *count * 4 + used > context_.local_limit)
      return "L5: the row is too long to be held";
    if (!count && common_ == 0) return "L5: a value of unknown size outside of all loops";
    return {};
  }

  DType dtype_of(ScalarId scalar) const {
    DType found = DType::kBool;
    for_each_statement(kernel_.body, [&](const Statement& statement) {
      if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
        if (instruction->result == scalar) found = instruction->dtype;
        return;
      }
      const auto* loop = std::get_if<Loop>(&statement.data);
      if (loop == nullptr) return;
      for (const Reduction& reduction : loop->reductions) {
        for (std::size_t i = 0; i < reduction.results.size(); ++i) {
          if (reduction.results[i] == scalar)
            found = reduction_result_dtype(reduction.op, reduction.dtype, i);
        }
      }
    });
    return found;
  }

  // A 16-bit float is held as the f32 that it was rounded from, if there is one. (A cast from
  // another dtype has no such value.)
  ScalarId wide_value(const Site& store, ScalarId value) {
    const DType dtype = kernel_.buffers[buffer_].dtype;
    if (!is_half(dtype)) return value;
    for (const auto& [body, position] : store.bodies) {
      for (std::size_t i = 0; i < position; ++i) {
        const auto* cast = std::get_if<Instruction>(&(*body)[i].data);
        if (cast == nullptr || cast->result != value || cast->op != ScalarOp::kCast) continue;
        if (dtype_of(cast->args[0]) != DType::kF32) return value;
        held_dtype_ = DType::kF32;
        return cast->args[0];
      }
    }
    return value;
  }

  SymExpr own_index() const {
    std::vector<std::pair<Symbol, SymExpr>> own;
    for (const Dim& dim : inner_) own.emplace_back(dim.variable, SymExpr::symbol(dim.variable));
    return row_index(own);
  }

  // An earlier fusion may have held the value already.
  BufferId held_before(const Site& store) const {
    for (const Statement& statement : store.body()) {
      const auto* other = std::get_if<Store>(&statement.data);
      if (other == nullptr || other->value != held_ || other->index != own_index()) continue;
      if (kernel_.buffers[other->buffer].kind == Buffer::Kind::kLocal) return other->buffer;
    }
    return BufferId{};
  }

  void add_local(const Site& site) {
    Buffer local;
    local.kind = Buffer::Kind::kLocal;
    local.name = kernel_.buffers[buffer_].name + "_row" + std::to_string(kernel_.buffers.size());
    local.dtype = held_dtype_;
    local.extent = iterations(inner_);
    local_ = kernel_.buffers.push_back(std::move(local));
    group_.values.push_back(ValueId{});
    Body& body = site.body();
    body.insert(body.begin() + static_cast<long>(site.bodies.back().second) + 1,
                Statement{Store{local_, own_index(), held_}});
  }

  void rewrite() {
    const Site store = store_sites(kernel_, buffer_)[0];
    held_dtype_ = kernel_.buffers[buffer_].dtype;
    held_ = wide_value(store, std::get<Store>(store.statement().data).value);
    local_ = held_before(store);
    if (!local_.valid()) add_local(store);
    for (const auto& [result, index] : places_) {
      for (const Site& site : load_sites(kernel_, buffer_)) {
        auto& load = std::get<Instruction>(site.statement().data);
        if (load.result != result) continue;
        load.buffer = local_;
        load.index = index;
        if (held_dtype_ != load.dtype) narrow(site, load);
        break;
      }
    }
  }

  void narrow(const Site& site, Instruction& load) {
    Instruction cast;
    cast.op = ScalarOp::kCast;
    cast.dtype = load.dtype;
    cast.result = load.result;
    load.dtype = held_dtype_;
    load.result = kernel_.new_scalar();
    cast.args = {load.result};
    Body& body = site.body();
    body.insert(body.begin() + static_cast<long>(site.bodies.back().second) + 1,
                Statement{std::move(cast)});
  }

  Group& group_;
  Kernel& kernel_;
  BufferId buffer_;
  SpliceContext& context_;
  std::size_t common_ = 0;
  std::vector<Dim> inner_;
  std::vector<std::pair<ScalarId, SymExpr>> places_;
  BufferId local_;
  ScalarId held_;
  DType held_dtype_ = DType::kF32;
};

}  // namespace

std::string hold_in_row(Group& group, ValueId value, SpliceContext& context) {
  return Holder(group, value, context).run();
}

}  // namespace triptych::loops
