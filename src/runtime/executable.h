// A program that runs: kernels compiled, operators found. Calls from several threads are safe; each
// running call has a frame of its own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "runtime/frame.h"
#include "runtime/input_check.h"

namespace triptych::runtime {

// Gives up and takes back a lock of the caller (Python's) around work that is long enough to be
// worth it.
struct WorkLock {
  void* (*release)() = nullptr;
  void (*acquire)(void* state) = nullptr;
};

struct ExecutableOptions {
  bool strict = false;  // an external result with unexpected strides is an error, not a copy
  // What the program computes. When a kernel's check fails, the reference executor runs it to
  // raise eager's own exception; without it a general message is raised.
  std::shared_ptr<const ir::Graph> graph;
};

class Executable {
 public:
  Executable(plan::Program program, std::vector<CompiledKernel> kernels,
             ExecutableOptions options = {});
  ~Executable();

  // outputs[i] belongs to the program's i-th output; undefined for literals and for kInput (the
  // caller has the very object). Throws ProgramError, or what eager throws.
  void run(std::span<const InputRef> inputs, std::vector<at::Tensor>& outputs, WorkLock lock = {});
  // Also gives the values of symbolic literals.
  void run(std::span<const InputRef> inputs, std::vector<at::Tensor>& outputs,
           std::vector<std::int64_t>& literals, WorkLock lock);

  // Would run() take these inputs? Nothing is run.
  bool accepts(std::span<const InputRef> inputs);

  const plan::Program& program() const { return layout_.program; }
  std::int64_t retained_bytes() const;
  std::int64_t restrided_results() const { return restrided_; }
  void reset();  // drops frames that no call is using

 private:
  class FrameLease;
  class Call;
  std::unique_ptr<Frame> take_frame();
  void give_frame(std::unique_ptr<Frame> frame) noexcept;

  Layout layout_;
  ExecutableOptions options_;
  std::atomic<Frame*> first_free_{
      nullptr};  // the frame of the last call: no lock on the usual path
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
  std::atomic<std::int64_t> restrided_{0};
};

}  // namespace triptych::runtime
