#include <algorithm>

#include "codegen/loops/fusion/splice.h"

namespace triptych::loops {
namespace {

Splice refused(std::string why) { return {false, std::move(why)}; }

constexpr int kMaxSplits = 6;

// The one index at which the guest reads `buffer`; nullopt when it reads at several.
std::optional<SymExpr> single_load_index(const Body& body, BufferId buffer) {
  std::optional<SymExpr> index;
  for (const Statement& statement : body) {
    const auto* load = std::get_if<Instruction>(&statement.data);
    if (load == nullptr || load->op != ScalarOp::kLoad || load->buffer != buffer) continue;
    if (index && *index != load->index) return std::nullopt;
    index = load->index;
  }
  return index;
}

class Epilogue {
 public:
  Epilogue(Group& host, const Group& guest, ValueId value, bool sibling, SpliceContext& context)
      : host_(host),
        guest_(guest),
        value_(value),
        sibling_(sibling),
        context_(context),
        nest_(outer_nest(guest.kernel)) {}

  Splice run() {
    if (std::string why = match_reader(); !why.empty()) return refused(std::move(why));
    std::vector<IndexMap> maps;
    if (std::string why = solve_sites(maps); !why.empty()) return refused(std::move(why));
    // First on trial, so that a refusal leaves the host alone: everything that the guest loads of
    // the host's results must be in scope behind each store.
    const std::vector<Site> sites = host_sites();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (std::string why = check_site(sites[i], maps[i]); !why.empty())
        return refused(std::move(why));
    }
    // Innermost bodies first: appending to a body moves the loops in it.
    for (std::size_t i = sites.size(); i-- > 0;) {
      const Site site = host_sites()[i];
      append(site, maps[i]);
    }
    classify(host_);
    return {true, {}};
  }

 private:
  // Where the guest may go: every store of the value, or for siblings the first load that fits.
  std::vector<Site> host_sites() {
    const BufferId buffer = host_.find(value_);
    if (!sibling_) return store_sites(host_.kernel, buffer);
    for (Site& site : load_sites(host_.kernel, buffer)) {
      const std::vector<Dim> dims = site.loop_dims(site.index());
      const bool every = dims.size() == site.loops.size() &&
                         std::all_of(dims.begin(), dims.end(),
                                     [](const Dim& d) { return d.stride != SymExpr(0); });
      if (every && iterations(dims) == iterations(dims_)) return {std::move(site)};
    }
    return {};
  }

  std::string match_reader() {
    const auto index =
        sibling_ ? first_load_index() : single_load_index(*nest_.body, guest_.find(value_));
    if (!index) return "L3: the value is read at several indices";
    std::vector<Symbol> variables;
    for (const Loop* loop : nest_.loops) variables.push_back(loop->variable);
    const Affine affine = affine_in(*index, variables);
    if (!affine.linear) return "L3: the value is read at an index that is not linear";
    for (Symbol symbol : affine.rest.symbols()) {
      const auto& known = guest_.kernel.symbols;
      if (std::find(known.begin(), known.end(), symbol) == known.end()) {
        return "L3: the value is read at a loaded index";
      }
    }
    offset_ = affine.rest;
    for (const Loop* loop : nest_.loops) {
      const SymExpr& stride = affine.coefficient(loop->variable);
      (stride == SymExpr(0) ? extra_ : dims_).push_back({loop->variable, loop->extent, stride});
    }
    if (!sibling_) return check_covers(dims_, element_count(context_.graph, value_));
    return extra_.empty() ? std::string() : "L4: the shared input is broadcast";
  }

  std::optional<SymExpr> first_load_index() const {
    for (const Statement& statement : *nest_.body) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      if (load == nullptr || load->op != ScalarOp::kLoad) continue;
      if (load->buffer == guest_.find(value_)) return load->index;
    }
    return std::nullopt;
  }

  std::string solve_sites(std::vector<IndexMap>& maps) {
    for (int attempt = 0; attempt < kMaxSplits; ++attempt) {
      maps.clear();
      std::optional<IndexMap::Split> split;
      for (const Site& site : host_sites()) {
        if (!extra_.empty() && inside_reduction(site))
          return "L6: a loop would stand inside a reduction";
        std::vector<Dim> loops;
        for (const Loop* loop : site.loops)
          loops.push_back({loop->variable, loop->extent, SymExpr()});
        IndexMap map = solve_index(dims_, offset_, site.index(), loops, !sibling_);
        if (!map.ok && !map.split) return "L3: " + map.why;
        if (!map.ok) {
          split = map.split;
          break;
        }
        maps.push_back(std::move(map));
      }
      if (!split) return maps.empty() ? "L3: the value is not stored here" : std::string();
      if (!split_loop(host_.kernel, split->variable, split->inner, context_.names)) {
        return "L6: a reduction's loop would have to be split";
      }
    }
    return "L3: the loops do not divide into each other";
  }

  Importer importer_for(const IndexMap& map) {
    Importer importer(host_, guest_, context_.names);
    for (const auto& [variable, value] : map.values) importer.map_variable(variable, value);
    return importer;
  }

  static Site at_end(Site site) {
    site.bodies.back().second = site.body().size();
    return site;
  }

  std::string check_site(const Site& site, const IndexMap& map) {
    const Site end = at_end(site);
    std::vector<std::pair<Symbol, SymExpr>> values = map.values;
    const auto substituted = [&](const SymExpr& e) {
      return e.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
        for (const auto& [variable, value] : values) {
          if (variable == symbol) return value;
        }
        return std::nullopt;
      });
    };
    for (const Statement& statement : *nest_.body) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      if (load == nullptr || load->op != ScalarOp::kLoad) continue;
      const ValueId value = guest_.values[load->buffer.value];
      if (!value.valid() || !host_.writes(value)) continue;
      if (!visible_store(end, host_.find(value), substituted(load->index))) {
        return "L5: %" + guest_.kernel.buffers[load->buffer].name + " is not in scope at the store";
      }
    }
    return {};
  }

  void append(const Site& site, const IndexMap& map) {
    Importer importer = importer_for(map);
    const Site end = at_end(site);
    std::vector<Loop> around;
    for (const Dim& dim : extra_) {
      Loop loop;
      loop.variable = context_.names.loop();
      loop.extent = dim.extent;
      importer.map_variable(dim.variable, SymExpr::symbol(loop.variable));
      around.push_back(std::move(loop));
    }
    Body body;
    body.reserve(nest_.body->size());
    for (const Statement& statement : *nest_.body) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      if (load != nullptr && load->op == ScalarOp::kLoad) {
        const ValueId value = guest_.values[load->buffer.value];
        if (value.valid() && host_.writes(value)) {
          const auto stored = visible_store(end, host_.find(value), importer.index(load->index));
          TRIPTYCH_CHECK(stored.has_value(), "checked before");
          importer.map_scalar(load->result, *stored);
          continue;
        }
      }
      body.push_back(importer.import(statement));
    }
    if (!around.empty()) body = rebuild({std::move(around), std::move(body)});
    std::move(body.begin(), body.end(), std::back_inserter(site.body()));
  }

  Group& host_;
  const Group& guest_;
  ValueId value_;
  bool sibling_;
  SpliceContext& context_;
  NestView nest_;
  std::vector<Dim> dims_, extra_;
  SymExpr offset_;
};

}  // namespace

Splice splice_epilogue(Group& host, const Group& guest, ValueId value, SpliceContext& context) {
  return Epilogue(host, guest, value, false, context).run();
}

Splice splice_sibling(Group& host, const Group& guest, ValueId shared, SpliceContext& context) {
  return Epilogue(host, guest, shared, true, context).run();
}

}  // namespace triptych::loops
