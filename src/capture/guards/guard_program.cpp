#include "capture/guards/guard_program.h"

#include <algorithm>

#include "capture/guards/abc_token.h"
#include "capture/guards/plain_value.h"
#include "capture/guards/tensor_facts.h"

namespace triptych::capture {
namespace {

// Registers of a run, kept by each thread. A run inside a run, which only a lookup that meets
// foreign keys of the same hash can cause, gets its own.
class Scratch {
 public:
  Scratch(std::size_t registers, std::size_t symbols) {
    std::swap(memory_, kept());
    if (memory_.registers.size() < registers) memory_.registers.resize(registers);
    if (memory_.symbols.size() < symbols) memory_.symbols.resize(symbols);
  }
  ~Scratch() { std::swap(memory_, kept()); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  PyObject** registers() { return memory_.registers.data(); }
  std::int64_t* symbols() { return memory_.symbols.data(); }

 private:
  struct Memory {
    std::vector<PyObject*> registers;
    std::vector<std::int64_t> symbols;
  };
  static Memory& kept() {
    static thread_local Memory kept;
    return kept;
  }
  Memory memory_;
};

}  // namespace

std::size_t GuardProgram::run(GuardContext& context) const {
  const GuardStep* const first = steps_.data();
  const GuardStep* const last = first + steps_.size();
  for (const GuardStep* step = first; step != last; ++step) {
    if (!step->run(*step, context)) return static_cast<std::size_t>(step - first);
  }
  return steps_.size();
}

std::pair<std::size_t, std::size_t> GuardProgram::shortcut_size() const {
  if (memos_.empty()) return {0, steps_.size()};
  return {memos_.back().token_count(), memos_.back().step_count()};
}

// True: a memo knows the answer.
bool GuardProgram::check_by_memo(GuardContext& context, bool& passes) const {
  for (auto memo = memos_.begin(); memo != memos_.end(); ++memo) {
    std::uint32_t changed = VersionMemo::kNone;
    const VersionMemo::Result result = memo->check(context, changed);
    if (result == VersionMemo::Result::kOtherRoots) continue;
    if (result == VersionMemo::Result::kChanged) {
      if (changed != VersionMemo::kNone && dict_changes_[changed] < UINT8_MAX) {
        ++dict_changes_[changed];
      }
      memos_.erase(memo);
      return false;
    }
    passes = result == VersionMemo::Result::kPasses;
    ++shortcuts_;
    return true;
  }
  return false;
}

void GuardProgram::remember(const GuardContext& context) const {
  constexpr std::size_t kMostMemos = 4;
  constexpr int kMostRecordings = 64;
  constexpr std::uint8_t kOften = 3;
  constexpr std::size_t kFewSteps = 24;  // about as fast without
  if (steps_.size() < kFewSteps || recordings_ == kMostRecordings) return;
  ++recordings_;
  dict_changes_.resize(register_count());
  std::vector<bool> volatile_registers(register_count());
  for (std::size_t k = 0; k < register_count(); ++k) {
    volatile_registers[k] = dict_changes_[k] >= kOften;
  }
  VersionMemo memo(*this, context, volatile_registers);
  if (!memo.worthwhile()) {
    recordings_ = kMostRecordings;
    return;
  }
  if (memos_.size() == kMostMemos) memos_.erase(memos_.begin());
  memos_.push_back(std::move(memo));
}

bool GuardProgram::check(GuardContext& context, std::vector<PyObject*>& exported) const {
  Scratch scratch(register_count(), symbol_count_);
  context.registers = scratch.registers();
  context.symbols = scratch.symbols();
  bool passes = false;
  const bool known = check_by_memo(context, passes);
  if (known && strict_) {
    TRIPTYCH_CHECK((run(context) == steps_.size()) == passes,
                   "a short-cut past the guards and the guards differ");
  }
  if (!known) {
    passes = run(context) == steps_.size();
    if (passes) remember(context);
  }
  if (!passes) return false;
  exported.resize(exports_.size());
  for (std::size_t k = 0; k < exports_.size(); ++k) {
    exported[k] = context.registers[exports_[k]];
  }
  return true;
}

GuardFailure GuardProgram::explain(GuardContext& context) const {
  Scratch scratch(register_count(), symbol_count_);
  context.registers = scratch.registers();
  context.symbols = scratch.symbols();
  const std::size_t step = run(context);
  if (step == steps_.size()) return {};
  const std::uint32_t guard = steps_[step].guard;
  GuardFailure failure{failure_text(steps_[step], context)};
  if (guard < guards_.guards.size()) {
    const Guard& failed = guards_.guards[guard];
    failure.is_memory = failed.kind == GuardKind::kDisjoint;
    const char* const file = failed.file ? PyUnicode_AsUTF8(failed.file.get()) : nullptr;
    if (file != nullptr) failure.location = std::string(file) + ":" + std::to_string(failed.line);
    if (failed.file && file == nullptr) PyErr_Clear();
  }
  return failure;
}

void GuardProgram::add_changes(const Guard& guard, PyObject* value,
                               std::set<std::pair<std::string, int>>& changes) const {
  if (guard.kind == GuardKind::kEquals) {
    const bool integers = PyLong_CheckExact(guard.object.get()) && PyLong_CheckExact(value);
    if (integers && !plain_equal(guard.object.get(), value)) {
      changes.emplace(sources_->text(guard.source), InputSymbol::kInteger);
    }
  }
  if (guard.kind != GuardKind::kTensor) return;
  const std::vector<std::int64_t> sizes = sizes_of(*guard.tensor, value);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == guard.tensor->sizes[d]) continue;
    changes.emplace(sources_->text(guard.source), static_cast<int>(d));
  }
}

bool GuardProgram::is_outdated() const {
  return std::ranges::any_of(guards_.guards, [](const Guard& guard) {
    return guard.kind == GuardKind::kAbcToken && guard.number != abc_token();
  });
}

std::set<std::pair<std::string, int>> GuardProgram::changed_numbers(GuardContext& context) const {
  Scratch scratch(register_count(), symbol_count_);
  context.registers = scratch.registers();
  context.symbols = scratch.symbols();
  std::set<std::pair<std::string, int>> changes;
  for (const GuardStep& step : steps_) {
    if (step.is_load) {
      // What cannot be loaded leaves nothing to load from.
      if (!step.run(step, context)) context.registers[step.to] = nullptr;
    } else if (step.guard < guards_.guards.size()) {
      const Guard& guard = guards_.guards[step.guard];
      PyObject* const value = guard.source ? context.registers[step.from] : nullptr;
      if (value != nullptr) add_changes(guard, value, changes);
    }
  }
  return changes;
}

}  // namespace triptych::capture
