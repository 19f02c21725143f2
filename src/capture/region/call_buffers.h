// What one call needs, kept by each thread so that nothing is allocated. A nested call takes its
// own.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "capture/region/argument_binding.h"

namespace triptych::capture {

struct CallBuffers {
  BoundArguments bound;
  std::vector<PyObject*> values;
};

class BufferLease {
 public:
  BufferLease() : buffers_(std::move(kept())) {
    if (!buffers_) buffers_ = std::make_unique<CallBuffers>();
  }
  ~BufferLease() {
    buffers_->bound.clear();
    kept() = std::move(buffers_);
  }
  BufferLease(const BufferLease&) = delete;
  BufferLease& operator=(const BufferLease&) = delete;
  CallBuffers* operator->() { return buffers_.get(); }

 private:
  static std::unique_ptr<CallBuffers>& kept() {
    static thread_local std::unique_ptr<CallBuffers> kept;
    return kept;
  }
  std::unique_ptr<CallBuffers> buffers_;
};

}  // namespace triptych::capture
