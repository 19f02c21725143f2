#include <algorithm>

#include "codegen/loops/fusion/splice.h"

namespace triptych::loops {
namespace {

Splice refused(std::string why) { return {false, std::move(why)}; }

constexpr int kMaxSplits = 6;

SymExpr replaced(const SymExpr& e, const std::map<Symbol, SymExpr>& values) {
  return e.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
    const auto found = values.find(symbol);
    if (found == values.end()) return std::nullopt;
    return found->second;
  });
}

std::vector<Dim> plain_dims(const std::vector<Loop*>& loops) {
  std::vector<Dim> dims;
  for (const Loop* loop : loops) dims.push_back({loop->variable, loop->extent, SymExpr()});
  return dims;
}

class Rows {
 public:
  Rows(const Group& host, const Group& guest, ValueId shared, SpliceContext& context)
      : host_(host),
        guest_(guest),
        shared_(shared),
        context_(context),
        nest_(outer_nest(guest.kernel)) {}

  Splice run() {
    std::string why = guest_.pointwise ? place_pointwise() : place_rows();
    if (!why.empty()) return refused(std::move(why));
    append();
    for (std::size_t i = 0; i < host_.values.size(); ++i) {
      const ValueId value = host_.values[i];
      if (!value.valid() || !host_.writes(value)) continue;
      why = hold_in_row(host_, value, context_);
      if (!why.empty()) return refused(std::move(why));
    }
    why = check_no_reload(host_.kernel);
    if (!why.empty()) return refused(std::move(why));
    classify(host_);
    return {true, {}};
  }

  Group take() { return std::move(host_); }

 private:
  // The host's outer loops, and the place whose index of the shared value names the row.
  std::optional<Site> host_site() {
    const BufferId buffer = host_.find(shared_);
    auto sites = host_.writes(shared_) ? store_sites(host_.kernel, buffer)
                                       : load_sites(host_.kernel, buffer);
    if (sites.empty()) return std::nullopt;
    if (host_.writes(shared_) && sites.size() != 1) return std::nullopt;
    return sites[0];
  }
  std::size_t prefix() const { return outer_nest(host_.kernel).loops.size(); }

  std::optional<SymExpr> guest_index() const {
    std::optional<SymExpr> index;
    const BufferId buffer = guest_.find(shared_);
    for_each_statement(*nest_.body, [&](const Statement& statement) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      if (load == nullptr || load->op != ScalarOp::kLoad || load->buffer != buffer) return;
      if (!index) index = load->index;
    });
    return index;
  }

  // Row kernel behind row kernel: the guest's outer loops are the host's.
  std::string place_rows() {
    const auto index = guest_index();
    if (!index) return "L3: the value is not read here";
    std::vector<Symbol> outer;
    for (const Loop* loop : nest_.loops) outer.push_back(loop->variable);
    const Affine guest = affine_in(*index, outer);
    if (!guest.linear) return "L3: rows are not linear";
    std::vector<Dim> dims;
    SymExpr rows(1);
    for (const Loop* loop : nest_.loops) {
      const SymExpr& stride = guest.coefficient(loop->variable);
      if (stride == SymExpr(0)) return "L3: a row reads what several rows share";
      dims.push_back({loop->variable, loop->extent, stride});
      rows *= loop->extent;
    }
    // Inner loops and loaded symbols out of the way: what is left names the row.
    std::map<Symbol, SymExpr> zero;
    for_each_statement(*nest_.body, [&](const Statement& statement) {
      if (const auto* loop = std::get_if<Loop>(&statement.data)) zero[loop->variable] = SymExpr(0);
    });
    const SymExpr offset = replaced(guest.rest, zero);
    for (int attempt = 0; attempt < kMaxSplits; ++attempt) {
      const auto site = host_site();
      if (!site) return "L3: the value is stored in pieces";
      const std::size_t count = prefix();
      if (site->loops.size() < count) return "L3: the value is not stored in the rows";
      const std::vector<Loop*> shared(site->loops.begin(),
                                      site->loops.begin() + static_cast<long>(count));
      std::map<Symbol, SymExpr> row_start;
      for (std::size_t i = count; i < site->loops.size(); ++i)
        row_start[site->loops[i]->variable] = SymExpr(0);
      if (iterations(plain_dims(shared)) != rows) return "L4: the numbers of rows differ";
      if (count == 0 && !small_enough()) return "L4: too much work for one row without parallelism";
      const SymExpr target = replaced(site->index(), row_start);
      map_ = solve_index(dims, offset, target, plain_dims(shared));
      if (map_.ok) return {};
      if (!map_.split) return "L3: " + map_.why;
      if (!split_loop(host_.kernel, map_.split->variable, map_.split->inner, context_.names)) {
        return "L6: a loop cannot be split";
      }
    }
    return "L3: the loops do not divide into each other";
  }

  // A pointwise kernel behind a row kernel: the loops around the store inside the row are run once
  // more.
  std::string place_pointwise() {
    const auto index = guest_index();
    if (!index || !host_.writes(shared_)) return "L3: the value is not stored here";
    std::vector<Symbol> variables;
    for (const Loop* loop : nest_.loops) variables.push_back(loop->variable);
    const Affine guest = affine_in(*index, variables);
    if (!guest.linear) return "L3: the value is read at an index that is not linear";
    std::vector<Dim> dims;
    for (const Loop* loop : nest_.loops) {
      const SymExpr& stride = guest.coefficient(loop->variable);
      if (stride == SymExpr(0)) return "L3: the value is broadcast";
      dims.push_back({loop->variable, loop->extent, stride});
    }
    if (std::string why = check_covers(dims, element_count(context_.graph, shared_)); !why.empty())
      return why;
    std::map<Symbol, SymExpr> clones;
    for (int attempt = 0; attempt < kMaxSplits; ++attempt) {
      const auto site = host_site();
      if (!site) return "L3: the value is stored in pieces";
      const std::size_t count = prefix();
      if (site->loops.size() < count) return "L3: the value is not stored in the rows";
      if (count == 0 && !small_enough()) return "L4: too much work for one row without parallelism";
      if (attempt == 0) clone_inner(*site, count, clones);
      std::vector<Dim> loops =
          plain_dims({site->loops.begin(), site->loops.begin() + static_cast<long>(count)});
      for (const Loop& loop : around_) loops.push_back({loop.variable, loop.extent, SymExpr()});
      map_ = solve_index(dims, guest.rest, replaced(site->index(), clones), loops);
      if (map_.ok) return {};
      if (!map_.split) return "L3: " + map_.why;
      if (!split_clone(clones) &&
          !split_loop(host_.kernel, map_.split->variable, map_.split->inner, context_.names)) {
        return "L6: a loop cannot be split";
      }
    }
    return "L3: the loops do not divide into each other";
  }

  void clone_inner(const Site& site, std::size_t count, std::map<Symbol, SymExpr>& clones) {
    for (std::size_t i = count; i < site.loops.size(); ++i) {
      Loop loop;
      loop.variable = context_.names.loop();
      loop.extent = site.loops[i]->extent;
      clones[site.loops[i]->variable] = SymExpr::symbol(loop.variable);
      around_.push_back(std::move(loop));
    }
  }

  bool split_clone(std::map<Symbol, SymExpr>& clones) {
    for (std::size_t i = 0; i < around_.size(); ++i) {
      if (around_[i].variable != map_.split->variable) continue;
      const auto outer_extent = exact_quotient(around_[i].extent, map_.split->inner);
      if (!outer_extent) return false;
      Loop inner;
      inner.variable = context_.names.loop();
      inner.extent = map_.split->inner;
      const Symbol whole = around_[i].variable;
      around_[i].variable = context_.names.loop();
      around_[i].extent = *outer_extent;
      const SymExpr value =
          SymExpr::symbol(around_[i].variable) * inner.extent + SymExpr::symbol(inner.variable);
      for (auto& [variable, clone] : clones) clone = replaced(clone, {{whole, value}});
      around_.insert(around_.begin() + static_cast<long>(i) + 1, std::move(inner));
      return true;
    }
    return false;
  }

  bool small_enough() const {
    const auto count = element_count(context_.graph, shared_).as_constant();
    return count && *count <= context_.serial_limit;
  }

  void append() {
    Importer importer(host_, guest_, context_.names);
    for (const auto& [variable, value] : map_.values) importer.map_variable(variable, value);
    Body body;
    for (const Statement& statement : *nest_.body) body.push_back(importer.import(statement));
    if (!around_.empty()) body = rebuild({std::move(around_), std::move(body)});
    Body* row = &host_.kernel.body;
    for (std::size_t i = prefix(); i > 0; --i) row = &std::get<Loop>((*row)[0].data).body;
    std::move(body.begin(), body.end(), std::back_inserter(*row));
  }

  Group host_;
  const Group& guest_;
  ValueId shared_;
  SpliceContext& context_;
  NestView nest_;
  IndexMap map_;
  std::vector<Loop> around_;
};

}  // namespace

Splice splice_rows(Group& host, const Group& guest, ValueId shared, SpliceContext& context) {
  if (host.pointwise) return refused("L3: the first kernel has no rows");
  Rows rows(host, guest, shared, context);
  Splice result = rows.run();
  if (result.done) host = rows.take();
  return result;
}

}  // namespace triptych::loops
