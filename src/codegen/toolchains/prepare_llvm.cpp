#include "codegen/toolchains/prepare_llvm.h"

#include <pthread.h>

#include <mutex>
#include <thread>
#include <utility>

namespace triptych::toolchains {

namespace {

// What kernels are made of: a loop of masked vectors, multiply-add, comparison, a sum of lanes.
constexpr const char* kSample = R"(
define void @sample(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %more, %loop ]
  %left = sub i64 %n, %i
  %few = call i64 @llvm.umin.i64(i64 %left, i64 16)
  %count = trunc i64 %few to i32
  %first = insertelement <16 x i32> poison, i32 %count, i64 0
  %all = shufflevector <16 x i32> %first, <16 x i32> poison, <16 x i32> zeroinitializer
  %mask = icmp ugt <16 x i32> %all, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %at = getelementptr float, ptr %x, i64 %i
  %v = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %at, <16 x i1> %mask, <16 x float> zeroinitializer)
  %above = fcmp ogt <16 x float> %v, zeroinitializer
  %a = select <16 x i1> %above, <16 x float> %v, <16 x float> splat (float 0.5)
  %b = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %v, <16 x float> splat (float 0.25))
  %c = fdiv <16 x float> %b, %a
  %more = fadd contract <16 x float> %sum, %c
  call void @llvm.masked.store.v16f32.p0(<16 x float> %c, ptr align 4 %at, <16 x i1> %mask)
  %next = add nuw nsw i64 %i, 16
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %after
after:
  %low = shufflevector <16 x float> %more, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %high = shufflevector <16 x float> %more, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %half = fadd contract <8 x float> %low, %high
  %one = extractelement <8 x float> %half, i64 0
  %root = call float @llvm.sqrt.f32(float %one)
  store float %root, ptr %x, align 4
  ret void
}
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare float @llvm.sqrt.f32(float)
)";

struct State {
  std::mutex mutex;
  bool started = false;
  std::thread thread;
};

State& state() {
  static State& forever = *new State;  // a thread may outlive static destruction
  return forever;
}

void warm_up(const std::string& library, const LlvmTarget& target) {
  const auto compiler = llvm_compiler(library, target);
  if (compiler.ok()) (void)compiler.value()->compile(kSample, {"sample"}, {}, 1);
}

}  // namespace

void prepare_llvm(const std::string& library, const LlvmTarget& target) {
  const std::lock_guard lock(state().mutex);
  if (std::exchange(state().started, true)) return;
  // A child would find LLVM's locks held by a thread that it does not have.
  pthread_atfork([] { finish_preparing_llvm(); }, nullptr, nullptr);
  state().thread = std::thread([library, target] { warm_up(library, target); });
}

void finish_preparing_llvm() {
  const std::lock_guard lock(state().mutex);
  if (state().thread.joinable()) state().thread.join();
}

}  // namespace triptych::toolchains
