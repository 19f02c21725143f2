#include <algorithm>
#include <set>

#include "codegen/loops/fusion/splice.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

Splice refused(std::string why) { return {false, std::move(why)}; }

constexpr int kMaxSplits = 6;

class Prologue {
 public:
  Prologue(Group& host, const Group& guest, const PrologueOptions& options, SpliceContext& context)
      : host_(host),
        guest_(guest),
        options_(options),
        context_(context),
        nest_(outer_nest(guest.kernel)) {}

  Splice run() {
    if (std::string why = find_stores(); !why.empty()) return refused(std::move(why));
    if (std::string why = solve(); !why.empty()) return refused(std::move(why));
    if (std::string why = choose_primary(); !why.empty()) return refused(std::move(why));
    insert_all();
    replace_scalars(host_.kernel, replacements_);
    for (ValueId value : held_) {
      if (std::string why = hold_in_row(host_, value, context_); !why.empty())
        return refused(std::move(why));
    }
    if (std::string why = check_no_reload(host_.kernel); !why.empty())
      return refused(std::move(why));
    classify(host_);
    return {true, {}};
  }

 private:
  struct Place {  // one load in the host
    ValueId value;
    IndexMap map;
    SymExpr index;
    std::size_t depth = 0;
    bool once = false;  // the loops around run over the value's elements exactly once
  };

  // L4: one store per value, whose index names the iteration.
  std::string find_stores() {
    std::vector<Symbol> variables;
    for (const Loop* loop : nest_.loops) variables.push_back(loop->variable);
    for (const Statement& statement : *nest_.body) {
      const auto* store = std::get_if<Store>(&statement.data);
      if (store == nullptr) continue;
      const ValueId value = guest_.values[store->buffer.value];
      if (stores_.contains(value)) return "L4: the value is stored in pieces";
      stores_[value] = store;
      if (!host_.find(value).valid()) continue;
      const Affine affine = affine_in(store->index, variables);
      if (!affine.linear) return "L3: the value is stored at an index that is not linear";
      std::vector<Dim>& dims = dims_[value];
      for (const Loop* loop : nest_.loops) {
        dims.push_back({loop->variable, loop->extent, affine.coefficient(loop->variable)});
      }
      offsets_[value] = affine.rest;
      if (std::string why = check_covers(dims, element_count(context_.graph, value)); !why.empty())
        return why;
    }
    return {};
  }

  std::string solve() {
    for (int attempt = 0; attempt < kMaxSplits; ++attempt) {
      places_.clear();
      std::optional<IndexMap::Split> split;
      for (const auto& [value, dims] : dims_) {
        const BufferId buffer = host_.find(value);
        for (const Site& site : load_sites(host_.kernel, buffer)) {
          if (std::string why = solve_site(value, site, split); !why.empty()) return why;
          if (split) break;
        }
        if (split) break;
      }
      if (!split) return places_.empty() ? "L3: the value is not loaded here" : std::string();
      if (!split_loop(host_.kernel, split->variable, split->inner, context_.names)) {
        return "L6: a reduction's loop would have to be split";
      }
    }
    return "L3: the loops do not divide into each other";
  }

  std::string solve_site(ValueId value, const Site& site, std::optional<IndexMap::Split>& split) {
    std::vector<Dim> loops;
    for (const Loop* loop : site.loops) loops.push_back({loop->variable, loop->extent, SymExpr()});
    IndexMap map = solve_index(dims_[value], offsets_[value], site.index(), loops, true);
    if (map.split) {
      split = map.split;
      return {};
    }
    if (!map.ok) return "L3: " + map.why;
    const std::vector<Dim> dims = site.loop_dims(site.index());
    const bool every = std::all_of(dims.begin(), dims.end(),
                                   [](const Dim& dim) { return dim.stride != SymExpr(0); });
    const bool once = every && iterations(dims) == element_count(context_.graph, value);
    places_.push_back({value, std::move(map), site.index(), site.loops.size(), once});
    return {};
  }

  std::string choose_primary() {
    primary_ = places_.size();
    const bool recomputes = !options_.keep_stores && options_.recompute;
    if (recomputes && !guest_.has_checks) return {};
    const auto once =
        std::find_if(places_.begin(), places_.end(), [](const Place& p) { return p.once; });
    if (once == places_.end()) return "L4: no place computes every element exactly once";
    if (!recomputes) primary_ = static_cast<std::size_t>(once - places_.begin());
    return {};
  }

  // Inserts bodies in front of the loads, deepest first: inserting moves the loops of a body.
  void insert_all() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const bool primary = i == primary_;
      if (!primary && !options_.recompute) {
        if (std::find(held_.begin(), held_.end(), places_[i].value) == held_.end()) {
          held_.push_back(places_[i].value);
        }
        continue;
      }
      insert(places_[i], primary && (options_.keep_stores || !options_.recompute));
    }
  }

  void insert(const Place& place, bool with_stores) {
    const BufferId buffer = host_.find(place.value);
    for (const Site& site : load_sites(host_.kernel, buffer)) {
      const auto& load = std::get<Instruction>(site.statement().data);
      if (replacements_.contains(load.result) || load.index != place.index) continue;
      if (site.loops.size() != place.depth) continue;
      insert_at(site, place, load.result, with_stores);
      return;
    }
    // Another load of the same element in this body has been replaced together with this one.
  }

  void insert_at(const Site& site, const Place& place, ScalarId result, bool with_stores) {
    Importer importer(host_, guest_, context_.names);
    for (const auto& [variable, value] : place.map.values) importer.map_variable(variable, value);
    const std::set<ScalarId> needed =
        with_stores ? std::set<ScalarId>() : needed_for(stores_[place.value]->value);
    Body body;
    for (const Statement& statement : *nest_.body) {
      const auto* instruction = std::get_if<Instruction>(&statement.data);
      const bool wanted = with_stores ||
                          (instruction != nullptr && needed.contains(instruction->result)) ||
                          std::holds_alternative<Check>(statement.data);
      if (wanted) body.push_back(importer.import(statement));
    }
    const ScalarId scalar = importer.scalar(stores_[place.value]->value);
    Body& target = site.body();
    const std::size_t position = site.bodies.back().second;
    replacements_[result] = scalar;
    // Other loads of the same element behind this one are the same scalar.
    for (std::size_t i = position + 1; i < target.size(); ++i) {
      const auto* other = std::get_if<Instruction>(&target[i].data);
      if (other == nullptr || other->op != ScalarOp::kLoad || other->index != place.index) continue;
      if (other->buffer == host_.find(place.value)) replacements_[other->result] = scalar;
    }
    target[position] = std::move(body.back());
    body.pop_back();
    target.insert(target.begin() + static_cast<long>(position),
                  std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
    std::erase_if(target, [&](const Statement& statement) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      return load != nullptr && load->op == ScalarOp::kLoad && replacements_.contains(load->result);
    });
  }

  std::set<ScalarId> needed_for(ScalarId value) const {
    std::set<ScalarId> needed = {value};
    for (auto it = nest_.body->rbegin(); it != nest_.body->rend(); ++it) {
      if (const auto* check = std::get_if<Check>(&it->data)) needed.insert(check->condition);
      const auto* instruction = std::get_if<Instruction>(&it->data);
      if (instruction == nullptr || !needed.contains(instruction->result)) continue;
      needed.insert(instruction->args.begin(), instruction->args.end());
      if (instruction->op != ScalarOp::kLoad && instruction->op != ScalarOp::kIndex) continue;
      for (Symbol symbol : instruction->index.symbols()) {
        if (const auto scalar = scalar_of_symbol(symbol)) needed.insert(*scalar);
      }
    }
    return needed;
  }

  Group& host_;
  const Group& guest_;
  const PrologueOptions& options_;
  SpliceContext& context_;
  NestView nest_;
  std::map<ValueId, const Store*> stores_;
  std::map<ValueId, std::vector<Dim>> dims_;
  std::map<ValueId, SymExpr> offsets_;
  std::vector<Place> places_;
  std::size_t primary_ = 0;
  std::map<ScalarId, ScalarId> replacements_;
  std::vector<ValueId> held_;
};

}  // namespace

Splice splice_prologue(Group& host, const Group& guest, const PrologueOptions& options,
                       SpliceContext& context) {
  return Prologue(host, guest, options, context).run();
}

}  // namespace triptych::loops
