#include "runtime/small_memory.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <new>

namespace triptych::runtime {

namespace {

constexpr std::size_t kAlign = 64;
constexpr int kKept = 4;  // blocks of a class

// In front of each block.
struct alignas(kAlign) Header {
  int size_class;
};

// Four classes to each doubling, from 64 bytes on: at most a quarter is wasted.
constexpr std::size_t class_bytes(int size_class) {
  return (kAlign * static_cast<std::size_t>(4 + size_class % 4) << (size_class / 4)) / 4;
}

// The smallest class that holds `bytes`.
constexpr int class_of(std::size_t bytes) {
  if (bytes <= kAlign) return 0;
  const std::size_t quarters = (bytes * 4 - 1) / kAlign;  // of the smallest class, less one
  const int doubling = std::bit_width(quarters) - 3;
  const int step = static_cast<int>(quarters >> doubling) - 4;
  return 4 * doubling + step + 1;
}
constexpr int kClasses = class_of(kSmallBytes) + 1;
static_assert(class_bytes(kClasses - 1) == kSmallBytes);
static_assert(class_of(65) == 1 && class_bytes(1) == 80 && class_of(80) == 1 && class_of(81) == 2);

class Cache {
 public:
  Cache() = default;
  ~Cache() {
    clear();
    gone = true;
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  Header* take(int size_class) {
    Shelf& shelf = shelves_[static_cast<std::size_t>(size_class)];
    return shelf.count > 0 ? shelf.blocks[static_cast<std::size_t>(--shelf.count)] : nullptr;
  }
  bool keep(Header* block) {
    Shelf& shelf = shelves_[static_cast<std::size_t>(block->size_class)];
    if (shelf.count == kKept) return false;
    shelf.blocks[static_cast<std::size_t>(shelf.count++)] = block;
    return true;
  }
  void clear() {
    for (Shelf& shelf : shelves_) {
      while (shelf.count > 0) std::free(shelf.blocks[static_cast<std::size_t>(--shelf.count)]);
    }
  }

  static thread_local bool gone;  // the thread is ending

 private:
  struct Shelf {
    int count = 0;
    std::array<Header*, kKept> blocks;
  };
  std::array<Shelf, kClasses> shelves_;
};

thread_local bool Cache::gone = false;
thread_local Cache cache;

void give_back(void* context) {
  auto* block = static_cast<Header*>(context);
  if (Cache::gone || !cache.keep(block)) std::free(block);
}

}  // namespace

c10::DataPtr allocate_small(std::int64_t bytes) {
  const int size_class = class_of(static_cast<std::size_t>(bytes));
  Header* block = Cache::gone ? nullptr : cache.take(size_class);
  if (block == nullptr) {
    void* raw = std::aligned_alloc(
        kAlign, sizeof(Header) + (class_bytes(size_class) + kAlign - 1) / kAlign * kAlign);
    if (raw == nullptr) throw std::bad_alloc();
    block = new (raw) Header{size_class};
  }
  return {block + 1, block, give_back, c10::Device(c10::kCPU)};
}

void trim_small_memory() {
  if (!Cache::gone) cache.clear();
}

}  // namespace triptych::runtime
