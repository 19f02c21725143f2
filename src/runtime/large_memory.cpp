#include "runtime/large_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

namespace triptych::runtime {

namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
constexpr std::int64_t kMaxCached = std::int64_t{512} << 20;

class Pool {
 public:
  void* take(std::int64_t bytes) {
    const std::int64_t wanted = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    {
      const std::lock_guard lock(mutex_);
      // A block up to a quarter larger is good enough: more would waste what the caller never
      // touches.
      const auto found = free_.lower_bound(wanted);
      if (found != free_.end() && found->first <= wanted + wanted / 4) {
        void* block = found->second;
        state_.cached_bytes -= found->first;
        state_.used_bytes += found->first;
        sizes_.emplace(block, found->first);
        free_.erase(found);
        return block;
      }
    }
    void* block = map(wanted);
    const std::lock_guard lock(mutex_);
    sizes_.emplace(block, wanted);
    state_.used_bytes += wanted;
    return block;
  }

  void give(void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(block);
    const std::int64_t bytes = found->second;
    sizes_.erase(found);
    state_.used_bytes -= bytes;
    state_.cached_bytes += bytes;
    free_.emplace(bytes, block);
    trim(kMaxCached);
  }

  void trim_to(std::int64_t keep) {
    const std::lock_guard lock(mutex_);
    trim(keep);
  }

  LargeMemoryState state() {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  static void* map(std::int64_t bytes) {
    const auto length = static_cast<std::size_t>(bytes + kHugePage);
    void* raw = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) throw std::bad_alloc();
    auto* start = static_cast<char*>(raw);
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
    if (before > 0) munmap(start, before);
    const std::size_t after = static_cast<std::size_t>(kHugePage) - before;
    if (after > 0) munmap(start + before + bytes, after);
    madvise(start + before, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // advice only
    return start + before;
  }

  void trim(std::int64_t keep) {  // largest first; the mutex is held
    while (state_.cached_bytes > keep && !free_.empty()) {
      const auto last = std::prev(free_.end());
      munmap(last->second, static_cast<std::size_t>(last->first));
      state_.cached_bytes -= last->first;
      free_.erase(last);
    }
  }

  std::mutex mutex_;
  std::multimap<std::int64_t, void*> free_;
  std::map<void*, std::int64_t> sizes_;  // of blocks in use
  LargeMemoryState state_;
};

Pool& pool() {
  static Pool* const forever = new Pool;  // tensors may outlive static destruction
  return *forever;
}

}  // namespace

c10::DataPtr allocate_large(std::int64_t bytes) {
  void* block = pool().take(bytes);
  return {block, block, [](void* context) { pool().give(context); }, c10::Device(c10::kCPU)};
}

LargeMemoryState large_memory_state() { return pool().state(); }
void trim_large_memory(std::int64_t keep_bytes) { pool().trim_to(keep_bytes); }

}  // namespace triptych::runtime
