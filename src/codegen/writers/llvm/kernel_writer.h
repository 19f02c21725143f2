// Prints one kernel: what the files kernel_text.cpp (statements), loop_text.cpp and
// vector_loop_text.cpp share.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/writers/llvm/kernel_text.h"
#include "codegen/writers/llvm/reduction_text.h"
#include "codegen/writers/llvm/row_prefetch.h"
#include "codegen/writers/llvm/scope.h"

namespace triptych::writers::llvm {

using loops::Check;
using loops::Instruction;
using loops::Kernel;
using loops::Loop;
using loops::ScalarOp;
using loops::Schedule;
using loops::Statement;
using loops::Store;

using Accumulators = std::vector<std::vector<Accumulator>>;  // [group][reduction]

class KernelWriter {
 public:
  KernelWriter(const Kernel& kernel, const mapping::Traits& traits)
      : scope_(kernel, traits), code_(scope_.code), prefetch_(scope_) {}
  FunctionText run();

 private:
  // ---- statements: kernel_text.cpp ----

  // Parameters: pointers and sizes once, in front of everything.
  void enter();
  void body(const std::vector<Statement>& statements);
  int groups() const { return scope_.vector.active ? scope_.vector.unroll : 1; }
  void write(const Store& store_);
  void instruction(const Instruction& instruction);
  // Pure and total: computed where the deepest operand is, which may be outside of the loops around
  // us.
  std::vector<Operand> computed(const Instruction& instruction);
  // A failed check ends the kernel: the program raises, so nothing that follows matters, and no
  // later access needs to be safe.
  void check(const Check& check);
  std::string label(std::string_view what) { return cat(what, num(code_.fresh_label())); }

  // ---- loops: loop_text.cpp ----

  struct Range {
    Operand begin, end;
    std::optional<std::int64_t> extent;  // when constant, from 0
    bool whole = false;                  // begin and end are multiples of width * unroll
  };
  void loop(const Loop& loop);
  void finish(const loops::Reduction& reduction, const Accumulators& last, std::size_t r);
  // Runs `then` where `condition` holds; the accumulators of either way.
  Accumulators conditional(const std::string& condition, const Accumulators& otherwise,
                           const std::function<Accumulators()>& then);
  void append(const Code::Texts& texts) { code_.here() += texts.preheader + texts.body; }
  Accumulators joined(const Accumulators& a, const std::string& from_a, const Accumulators& b,
                      const std::string& from_b);
  struct Counter {
    Symbol variable;
    std::string begin, end;
    int step = 1;
  };
  // At least one iteration. `iterate` prints the body and returns the accumulators after it.
  Accumulators counted(const Counter& counter, const Accumulators& start,
                       const std::function<Accumulators(const Accumulators&)>& iterate);
  static void for_each_part(
      const Accumulators& all,
      const std::function<void(std::size_t, std::size_t, std::size_t, const Operand&)>& visit);
  Accumulators accumulate_all(const Loop& loop, const Accumulators& before);
  Accumulators serial_loop(const Loop& loop, const Range& range, const Accumulators& start);

  // ---- vector loops: vector_loop_text.cpp ----

  Accumulators vector_loop(const Loop& loop, const Range& range);
  VectorContext context(const Loop& loop, int unroll) const;
  Accumulators identities(const Loop& loop, int unroll);
  Accumulators joined_groups(const Loop& loop, const Accumulators& all);
  // One iteration. A region of its own: what is remembered for this value of the variable ends with
  // it.
  Accumulators straight(const Loop& loop, const std::string& position, const Accumulators& start,
                        const std::function<Accumulators(const Accumulators&)>& iterate);
  // Outputs of the loop that are too large for the caches, written vector by vector.
  std::vector<const Store*> large_stores(const Loop& loop) const;
  // Two versions of the loop: past the caches where the first vector of each large store is
  // aligned.
  Accumulators streaming_vectors(const Loop& loop, int unroll, const std::string& begin,
                                 const std::string& end, const std::vector<const Store*>& stores);
  Accumulators full_vectors(const Loop& loop, int unroll, const std::string& begin,
                            const std::string& end, bool once);
  // Vectors without a mask from begin to end, a positive multiple of width * unroll apart.
  Accumulators plain_vectors(const Loop& loop, int unroll, const std::string& begin,
                             const std::string& end, bool once);
  // One vector at a time from begin to end, masked; scalar code when the machine has no masked
  // memory.
  Accumulators tail(const Loop& loop, const std::string& begin, const std::string& end,
                    const Accumulators& before, std::optional<std::int64_t> count);
  Accumulators last_vector(const Loop& loop, const std::string& begin, const std::string& end,
                           const Accumulators& before);
  // The lanes become one before the scalar loop; its results come back as lane 0 of otherwise empty
  // lanes.
  Accumulators scalar_tail(const Loop& loop, const std::string& begin, const std::string& end,
                           const Accumulators& before);
  static std::string constant_mask(int lanes, std::int64_t count);
  std::string mask_until(const std::string& position, const std::string& end, int lanes);
  // In additions, roughly; a body that is printed once gets masks instead of a tail.
  static constexpr int kLargeBody = 24;
  static constexpr int kSmallBody = 8;
  static int weight(const std::vector<Statement>& statements);
  bool printed_once(const Loop& loop) const;
  Accumulators constant_vector_loop(const Loop& loop, const Range& range);
  Accumulators general_vector_loop(const Loop& loop, const Range& range);

  Scope scope_;
  Code& code_;
  RowPrefetch prefetch_;
  std::set<int> failures_;
};

}  // namespace triptych::writers::llvm
