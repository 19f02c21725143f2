// From sources and guards to a flat program.
#include <algorithm>

#include "capture/guards/guard_program.h"
#include "capture/guards/load_steps.h"
#include "capture/guards/tensor_facts.h"

namespace triptych::capture {

class GuardCompiler {
 public:
  explicit GuardCompiler(GuardProgram& program) : program_(program) {
    program_.register_of_source_.assign(program_.sources_->size(), kNone);
  }

  Status run(std::span<const SourceId> exports) {
    for (std::size_t k = 0; k < program_.guards_.guards.size(); ++k) {
      guard_ = static_cast<std::uint32_t>(k);
      TRIPTYCH_TRY([[maybe_unused]] Unit done, add(program_.guards_.guards[k]));
    }
    guard_ = kNone;
    TRIPTYCH_TRY([[maybe_unused]] Unit symbols, add_symbols());
    for (const SourceId source : exports) {
      TRIPTYCH_TRY(const std::uint32_t place, load(source));
      program_.exports_.push_back(place);
    }
    return Unit{};
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The register of a source, loaded where it first is needed.
  Result<std::uint32_t> load(SourceId id) {
    if (!id) return internal_error("guards.no_source", "a guard names no source");
    std::uint32_t& place = program_.register_of_source_[id.index];
    if (place != kNone) return place;
    const Source& source = (*program_.sources_)[id];
    GuardStep step;
    if (source.parent) {
      TRIPTYCH_TRY(step.from, load(source.parent));
      step.from_source = true;
      step.from_instance_dict =
          (*program_.sources_)[source.parent].kind == SourceKind::kInstanceDict;
    }
    if (!make_load(source, step)) {
      PyErr_Clear();
      return unsupported("guards.source",
                         program_.sources_->text(id) + " cannot be read again by a guard");
    }
    step.is_load = true;
    step.guard = guard_;
    step.to = static_cast<std::uint32_t>(program_.register_sources_.size());
    program_.register_sources_.push_back(id);
    program_.steps_.push_back(step);
    return place = step.to;
  }

  Status add(Guard& guard) {
    RegisterList others;
    for (const SourceId other : guard.others) {
      TRIPTYCH_TRY(const std::uint32_t place, load(other));
      others.push_back(place);
    }
    std::uint32_t from = 0;
    bool from_instance_dict = false;
    if (guard.source) {
      TRIPTYCH_TRY(from, load(guard.source));
      from_instance_dict = (*program_.sources_)[guard.source].kind == SourceKind::kInstanceDict;
    }
    GuardStep step = make_check(guard, std::move(others), program_.data_);
    step.from = from;
    step.guard = guard_;
    step.from_instance_dict = from_instance_dict;
    program_.steps_.push_back(step);
    return Unit{};
  }

  Status add_symbols() {
    const GuardSet& set = program_.guards_;
    std::vector<std::string> names;
    for (const InputSymbol& symbol : set.symbols) {
      const auto found = std::ranges::find(names, symbol.name);
      const auto number = static_cast<std::uint32_t>(found - names.begin());
      const bool is_first = found == names.end();
      if (is_first) names.push_back(symbol.name);
      TRIPTYCH_TRY(const std::uint32_t from, load(symbol.source));
      GuardStep step = make_symbol(symbol, number, is_first);
      step.from = from;
      step.guard = guard_;
      program_.steps_.push_back(step);
    }
    program_.symbol_count_ = names.size();
    SizeRelations relations(set.relations, names);
    if (relations.empty()) return Unit{};
    GuardStep step = make_relations(std::move(relations), program_.data_);
    step.guard = guard_;
    program_.steps_.push_back(step);
    return Unit{};
  }

  GuardProgram& program_;
  std::uint32_t guard_ = kNone;
};

Result<std::unique_ptr<GuardProgram>> GuardProgram::compile(
    std::shared_ptr<const SourceArena> sources, GuardSet guards,
    std::span<const SourceId> exports) {
  std::unique_ptr<GuardProgram> program(new GuardProgram());
  program->sources_ = std::move(sources);
  program->guards_ = std::move(guards);
  for (Guard& guard : program->guards_.guards) {
    if (guard.tensor && !guard.tensor->symbolic.empty()) follow_sizes(*guard.tensor);
  }
  TRIPTYCH_TRY([[maybe_unused]] Unit done, GuardCompiler(*program).run(exports));
  return program;
}

}  // namespace triptych::capture
