#include "runtime/launch.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace triptych::runtime {

namespace {

// Scratch memory of one thread, grown and never shrunk; a kernel's locals are rows, so it stays
// small.
class Scratch {
 public:
  ~Scratch() { std::free(data_); }

  void* at_least(std::int64_t bytes) {
    if (bytes > bytes_) {
      std::free(data_);
      bytes_ = (bytes + 4095) / 4096 * 4096;
      data_ = std::aligned_alloc(64, static_cast<std::size_t>(bytes_));
      if (data_ == nullptr) {
        bytes_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

void* thread_scratch(std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  static thread_local Scratch scratch;
  return scratch.at_least(bytes);
}

void run_part(const Launch& what, std::int64_t begin, std::int64_t end, std::int32_t* error) {
  what.function(what.buffers, what.symbols, begin, end, error, thread_scratch(what.scratch_bytes));
}

}  // namespace

void launch(const Launch& what, std::int32_t* error) {
  // get_num_threads also sets this thread's team size, which OpenMP keeps per thread.
  if (what.extent <= 1 || what.nanoseconds < kSerialNanoseconds || at::get_num_threads() == 1 ||
      omp_in_parallel() != 0) {
    if (what.extent > 0) run_part(what, 0, what.extent, error);
    return;
  }
  bool out_of_memory = false;
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t chunks = (what.extent + what.chunk_multiple - 1) / what.chunk_multiple;
    const std::int64_t part = (chunks + threads - 1) / threads * what.chunk_multiple;
    const std::int64_t begin = std::min(what.extent, part * omp_get_thread_num());
    const std::int64_t end = std::min(what.extent, begin + part);
    try {
      if (begin < end) run_part(what, begin, end, error);
    } catch (const std::bad_alloc&) {  // must not leave the region
#pragma omp atomic write
      out_of_memory = true;
    }
  }
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace triptych::runtime
