// A kernel (C3): buffers and a tree of loops over a scalar expression DAG.
//
// Softmax over rows, with a row-local buffer:
//
//   kernel softmax(in %x: f32, out %y: f32) {
//     local %t: f32[1024]
//     for i0 in 4096 {
//       for i1 in 1024 reduce(v2 = max v1) { v1 = load %x[1024*i0 + i1] }
//       for i2 in 1024 reduce(v6 = sum v5) {
//         v3 = load %x[1024*i0 + i2]; v4 = sub v3, v2; v5 = exp v4; store %t[i2], v5
//       }
//       for i3 in 1024 { v7 = load %t[i3]; v8 = div v7, v6; store %y[1024*i0 + i3], v8 }
//     }
//   }
//
// Rules (checked by verify_kernel):
//  1. A ScalarId is defined once, and used only below its definition in the same or a nested body.
//  A loop's
//     reduction results are defined behind the loop in the body that holds the loop.
//  2. An index is a SymExpr over loop variables in scope, size symbols of the kernel, and "v<N>"
//  symbols
//     naming i64 scalars in scope (indirect). It counts elements from the buffer's data pointer.
//  3. Indirect indices are bounds-checked by a Check before use.
//  4. Iterations of a loop are independent except for its reductions: no iteration reads what
//  another wrote.
//  5. bool scalars are stored as bytes 0 or 1. f16 and bf16 appear only in kLoad, kStore, kCast and
//  kConstant:
//     arithmetic is f32 between a cast in and a cast out. Complex never appears.
// Mapped kernels of the simd family (schedules set), further:
//  M1. At most one loop is kParallel, with no reductions. It is the only loop, store or check of
//  the kernel's
//      body; instructions beside it are run again by every chunk. `width` > 1 on it means that the
//      parallel loop is itself the vector loop: each chunk [begin, end) runs in vectors, its tail
//      masked.
//  M2. No vector loop (kVector, or kParallel with width > 1) stands inside another. In its body
//  every scalar
//      that depends on its variable is a vector; reductions of the vector loop end in one scalar.
//  M3. Serial loops inside a vector loop (tiles of column reductions) have extents that do not
//  depend on the
//      vector variable; their reductions run per lane.
//  M4. Locals are uniform memory of one chunk's current iteration, laid out by
//  mapping/launch_info.h.
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codegen/loops/scalar_op.h"
#include "ir/sym_expr.h"
#include "support/index.h"

namespace triptych::loops {

using ir::DType;
using ir::Symbol;
using ir::SymExpr;
using BufferId = Index<struct BufferTag>;
using ScalarId = Index<struct ScalarTag>;

struct Buffer {
  enum class Kind : std::uint8_t {
    kInput,
    kOutput,
    kInOut,      // read and written at the same index by the same iteration only
    kLocal,      // private to one iteration of the loops around all its uses; `extent` elements;
                 // scratch memory
    kWorkspace,  // shared between kernels of one program (partial results); an output for the
                 // planner
  };
  Kind kind = Kind::kInput;
  std::string name;
  DType dtype = DType::kF32;
  SymExpr extent;  // elements reachable from the data pointer: max index + 1
};

struct Instruction {
  ScalarId result;
  ScalarOp op = ScalarOp::kConstant;
  DType dtype = DType::kF32;  // of the result; comparisons: bool
  std::vector<ScalarId> args;
  // leaves
  std::variant<std::monostate, bool, std::int64_t, double> constant;  // kConstant, in `dtype`
  SymExpr index;    // kIndex: its value (i64); kLoad: element index
  BufferId buffer;  // kLoad
};

struct Store {
  BufferId buffer;
  SymExpr index;
  ScalarId value;  // of the buffer's dtype
};

// Sets the program's error word when `condition` is false; the program then raises eager's
// exception.
struct Check {
  ScalarId condition;
  enum class Code : std::uint8_t {
    kIndexOutOfRange = 1,
    kDivisionByZero = 2
  } code = Code::kIndexOutOfRange;
};

struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  DType dtype = DType::kF32;      // of the accumulator and of the first result
  ScalarId input;                 // defined in the loop's body
  std::vector<ScalarId> results;  // reduce_results(op); an index result is i64
};

// How a loop is executed. Everything but kSerial is put there by mapping.
enum class Schedule : std::uint8_t { kSerial, kParallel, kVector };

struct Statement;
struct Loop {
  Symbol variable;  // unique in the kernel: "i0", "i1", ...
  SymExpr extent;
  std::vector<Statement> body;
  std::vector<Reduction> reductions;
  Schedule schedule = Schedule::kSerial;
  int width = 1;   // lanes, of kVector and of kParallel (M1)
  int unroll = 1;  // independent vectors per iteration
};

struct Statement {
  std::variant<Instruction, Store, Check, Loop> data;
};

struct Kernel {
  std::string name;                       // unique in the program: "k0_softmax"
  std::vector<Symbol> symbols;            // size symbols, passed as int64 in this order
  IndexVector<BufferId, Buffer> buffers;  // parameters in order, locals last
  std::vector<Statement> body;
  std::uint32_t num_scalars = 0;
  std::vector<std::string> origins;  // names of the graph nodes computed here

  ScalarId new_scalar() { return ScalarId{num_scalars++}; }
};

std::string print(const Kernel& kernel);
Result<Kernel> parse_kernel(std::string_view text);
std::vector<Error> verify_kernel(const Kernel& kernel);
// Structure without names: kernels with equal keys share one compiled function.
std::string structural_key(const Kernel& kernel);

}  // namespace triptych::loops
