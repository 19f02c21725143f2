#include "capture/trace/guard_book.h"

#include <algorithm>
#include <utility>

namespace triptych::capture {

// A detail is a number, or an object that the guard written for it keeps alive.
bool GuardBook::is_new(GuardKind kind, SourceId source, std::uint64_t detail) {
  const std::uint64_t place =
      (static_cast<std::uint64_t>(source.index) << 8) | static_cast<std::uint64_t>(kind);
  return written_.insert({place, detail}).second;
}

void GuardBook::write(Guard guard) {
  locate_(guard);
  set_.guards.push_back(std::move(guard));
}

void GuardBook::add(GuardKind kind, SourceId source, PyObject* object, Py_ssize_t number) {
  const auto detail = object != nullptr ? reinterpret_cast<std::uint64_t>(object)
                                        : static_cast<std::uint64_t>(number);
  if (!is_new(kind, source, detail)) return;
  Guard guard{kind, source, Owned::copy(object)};
  guard.number = number;
  write(std::move(guard));
}

void GuardBook::keys(SourceId source, Owned keys) {
  if (!is_new(GuardKind::kKeys, source, 0)) return;
  write(Guard{GuardKind::kKeys, source, std::move(keys)});
}

void GuardBook::tensor(SourceId source, TensorFacts facts) {
  if (!is_new(GuardKind::kTensor, source, 0)) return;
  Guard guard{GuardKind::kTensor, source, {}};
  guard.tensor = std::make_unique<TensorFacts>(std::move(facts));
  write(std::move(guard));
}

void GuardBook::abc_token(std::int64_t token) {
  if (is_new(GuardKind::kAbcToken, {}, 0)) write(Guard{GuardKind::kAbcToken, {}, {}});
  const auto mine =
      std::ranges::find(set_.guards, GuardKind::kAbcToken, [](const Guard& g) { return g.kind; });
  mine->number = token;
}

void GuardBook::apart(SourceId source, std::vector<SourceId> others) {
  Guard guard{GuardKind::kDistinct, source, {}};
  guard.others = std::move(others);
  write(std::move(guard));
}

void GuardBook::relate(GuardKind kind, SourceId source, SourceId other) {
  if (source == other || !is_new(kind, source, other.index)) return;
  Guard guard{kind, source, {}};
  guard.others.push_back(other);
  write(std::move(guard));
}

}  // namespace triptych::capture
