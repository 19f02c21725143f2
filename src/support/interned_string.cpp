#include "support/interned_string.h"

#include <array>
#include <mutex>
#include <unordered_set>

namespace triptych {
namespace {

// Sharded, so that threads that compile at once seldom wait for each other. Nodes of an
// unordered_set do not move, so the address of an element is the identity of its text.
struct Shard {
  std::mutex mutex;
  std::unordered_set<std::string> texts;
};

const std::string* intern(std::string_view text) {
  static auto* const shards =
      new std::array<Shard, 16>();  // never destroyed: static users may outlive it
  // The key is a thread's reused buffer: a hit allocates nothing.
  thread_local std::string key;
  key.assign(text);
  Shard& shard = (*shards)[std::hash<std::string_view>()(text) % shards->size()];
  const std::lock_guard lock(shard.mutex);
  return &*shard.texts.insert(key).first;
}

}  // namespace

InternedString::InternedString() {
  static const std::string* const empty = intern("");
  text_ = empty;
}

InternedString::InternedString(std::string_view text) : text_(intern(text)) {}

}  // namespace triptych
