#include "codegen/loops/fusion/sites.h"

namespace triptych::loops {
namespace {

template <class Match>
void collect(Body& body, Site& around, const Match& match, std::vector<Site>& out) {
  around.bodies.emplace_back(&body, 0);
  for (std::size_t i = 0; i < body.size(); ++i) {
    around.bodies.back().second = i;
    if (match(body[i])) out.push_back(around);
    if (auto* loop = std::get_if<Loop>(&body[i].data)) {
      around.loops.push_back(loop);
      collect(loop->body, around, match, out);
      around.loops.pop_back();
    }
  }
  around.bodies.pop_back();
}

}  // namespace

const SymExpr& Site::index() const {
  if (const auto* store = std::get_if<Store>(&statement().data)) return store->index;
  return std::get<Instruction>(statement().data).index;
}

std::vector<Dim> Site::loop_dims(const SymExpr& index) const {
  std::vector<Symbol> variables;
  for (const Loop* loop : loops) variables.push_back(loop->variable);
  const Affine affine = affine_in(index, variables);
  std::vector<Dim> dims;
  if (!affine.linear) return dims;
  for (const Loop* loop : loops) {
    dims.push_back({loop->variable, loop->extent, affine.coefficient(loop->variable)});
  }
  return dims;
}

std::vector<Site> store_sites(Kernel& kernel, BufferId buffer) {
  std::vector<Site> out;
  Site around;
  collect(
      kernel.body, around,
      [&](const Statement& s) {
        const auto* store = std::get_if<Store>(&s.data);
        return store != nullptr && store->buffer == buffer;
      },
      out);
  return out;
}

std::vector<Site> load_sites(Kernel& kernel, BufferId buffer) {
  std::vector<Site> out;
  Site around;
  collect(
      kernel.body, around,
      [&](const Statement& s) {
        const auto* load = std::get_if<Instruction>(&s.data);
        return load != nullptr && load->op == ScalarOp::kLoad && load->buffer == buffer;
      },
      out);
  return out;
}

std::optional<ScalarId> visible_store(const Site& site, BufferId buffer, const SymExpr& index) {
  for (std::size_t level = site.bodies.size(); level-- > 0;) {
    const auto& [body, position] = site.bodies[level];
    for (std::size_t i = position; i-- > 0;) {
      const auto* store = std::get_if<Store>(&(*body)[i].data);
      if (store != nullptr && store->buffer == buffer && store->index == index) return store->value;
    }
  }
  return std::nullopt;
}

bool inside_reduction(const Site& site) {
  for (const Loop* loop : site.loops) {
    if (!loop->reductions.empty()) return true;
  }
  return false;
}

}  // namespace triptych::loops
