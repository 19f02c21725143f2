// The guards of a capture while it runs: each is written once.
#pragma once

#include <Python.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/guards/guard.h"
#include "capture/guards/source.h"

namespace triptych::capture {

class GuardBook {
 public:
  // `locate` says of a guard where the read is that it stands for.
  GuardBook(GuardSet& set, std::function<void(Guard&)> locate)
      : set_(set), locate_(std::move(locate)) {}

  void is(SourceId source, PyObject* object) { add(GuardKind::kIs, source, object); }
  void type(SourceId source, PyTypeObject* type) {
    add(GuardKind::kType, source, reinterpret_cast<PyObject*>(type));
  }
  void equals(SourceId source, PyObject* value) { add(GuardKind::kEquals, source, value); }
  void length(SourceId source, Py_ssize_t length) {
    add(GuardKind::kLength, source, nullptr, length);
  }
  void keys(SourceId source, Owned keys);
  void has_key(SourceId source, PyObject* key) { add(GuardKind::kHasKey, source, key); }
  void lacks_key(SourceId source, PyObject* key) { add(GuardKind::kLacksKey, source, key); }
  void absent(SourceId source) { add(GuardKind::kAbsent, source, nullptr); }
  void tensor(SourceId source, TensorFacts facts);
  void same(SourceId source, SourceId other) { relate(GuardKind::kSame, source, other); }
  void distinct(SourceId source, SourceId other) { relate(GuardKind::kDistinct, source, other); }
  void apart(SourceId source, std::vector<SourceId> others);
  // What abstract classes have answered holds for this number; the last one counts.
  void abc_token(std::int64_t token);
  void disjoint(SourceId source, SourceId other) { relate(GuardKind::kDisjoint, source, other); }

 private:
  void write(Guard guard);
  void add(GuardKind kind, SourceId source, PyObject* object, Py_ssize_t number = 0);
  void relate(GuardKind kind, SourceId source, SourceId other);
  bool is_new(GuardKind kind, SourceId source, std::uint64_t detail);

  struct Key {
    std::uint64_t place, detail;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (key.place * 0x9e3779b97f4a7c15ULL) ^ (key.detail >> 4) * 0xc2b2ae3d27d4eb4fULL;
    }
  };

  GuardSet& set_;
  std::function<void(Guard&)> locate_;
  std::unordered_set<Key, Hash> written_;
};

}  // namespace triptych::capture
