// Loops. A vector loop of W lanes and unroll U over N iterations becomes
//
//   main loop, U full vectors at a time            while i + U*W <= N
//   tail, one vector with a mask at a time         while i < N
//
// Whichever of the two cannot run for a constant N is left out, and what runs once is no loop.
// Machines without masked memory run the tail in scalar code. Accumulators: one vector for each of
// the U groups, joined behind the main loop, reduced to a scalar behind the tail. A large body is
// printed once, with a mask in every iteration: what the mask costs is little beside it, and
// compile time grows with the text.
//
// The counter passes through an empty piece of assembly that emits nothing. It hides the induction
// variable from LLVM's loop strength reduction, which takes 40 % of the compile time here and has
// nothing to improve: addresses already are base plus counter.
#include "codegen/writers/llvm/kernel_text.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "codegen/mapping/launch_info.h"
#include "codegen/writers/llvm/index_text.h"
#include "codegen/writers/llvm/memory_text.h"
#include "codegen/writers/llvm/reduction_text.h"
#include "codegen/writers/llvm/scalar_text.h"
#include "support/check.h"

namespace triptych::writers::llvm {

namespace {

using loops::Check;
using loops::Instruction;
using loops::Kernel;
using loops::Loop;
using loops::ScalarOp;
using loops::Schedule;
using loops::Statement;
using loops::Store;

using Accumulators = std::vector<std::vector<Accumulator>>;  // [group][reduction]

class Writer {
 public:
  Writer(const Kernel& kernel, const mapping::Traits& traits)
      : scope_(kernel, traits), code_(scope_.code) {}

  FunctionText run() {
    enter();
    body(scope_.kernel.body);
    // Stores past the caches are ordered by a fence only.
    if (!scope_.streamed.empty()) code_.here() += "  fence seq_cst\n";
    code_.here() += "  ret void\n";
    for (int failure : failures_) {
      code_.here() += cat("fail", num(failure), ":\n  store i32 ", num(failure),
                          ", ptr %error, align 4\n  ret void\n");
    }
    std::string text = cat(
        "define void @", scope_.kernel.name, "(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ",
        "ptr %error, ptr %scratch) #0 {\nentry:\n", code_.close_region().body, "}\n");
    return FunctionText{std::move(text), code_.needs()};
  }

 private:
  // Parameters: pointers and sizes once, in front of everything.
  void enter() {
    const Kernel& kernel = scope_.kernel;
    for (std::size_t k = 0; k < kernel.symbols.size(); ++k) {
      std::string at = code_.define(
          0, cat("getelementptr i64, ptr %symbols, i64 ", num(static_cast<std::int64_t>(k))));
      Operand value{.text = code_.define(0, cat("load i64, ptr ", at, ", align 8"))};
      scope_.symbols[kernel.symbols[k]] = value;
      scope_.ranges.set(kernel.symbols[k], {0, ir::SymRange::kPositiveInfinity});
    }
    std::vector<SymExpr> offsets = mapping::local_offsets(kernel);
    std::size_t local = 0;
    std::int64_t parameter = 0;
    for (const loops::Buffer& buffer : kernel.buffers) {
      if (buffer.kind == loops::Buffer::Kind::kLocal) {
        Operand offset = scalar_index(scope_, offsets.at(local++));
        scope_.buffers.push_back(
            {.text = code_.define(0, cat("getelementptr i8, ptr %scratch, i64 ", offset.text))});
        continue;
      }
      std::string at =
          code_.define(0, cat("getelementptr ptr, ptr %buffers, i64 ", num(parameter++)));
      scope_.buffers.push_back({.text = code_.define(0, cat("load ptr, ptr ", at, ", align 8"))});
    }
  }

  void body(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      if (const auto* instruction_ = std::get_if<Instruction>(&statement.data)) {
        instruction(*instruction_);
      } else if (const auto* store_ = std::get_if<Store>(&statement.data)) {
        write(*store_);
      } else if (const auto* check_ = std::get_if<Check>(&statement.data)) {
        check(*check_);
      } else {
        loop(std::get<Loop>(statement.data));
      }
    }
  }

  int groups() const { return scope_.vector.active ? scope_.vector.unroll : 1; }

  void write(const Store& store_) {
    bool varies = scope_.varies(store_.index);
    for (int u = 0; u < (varies ? groups() : 1); ++u) {
      store(scope_, store_.buffer, store_.index, scope_.get(store_.value, u), u);
    }
  }

  void instruction(const Instruction& instruction) {
    std::vector<Operand>& result = scope_.scalars[instruction.result];
    std::vector<Operand> values;
    switch (instruction.op) {
      case ScalarOp::kConstant:
        values.push_back(
            {.text = literal(instruction.dtype, instruction.constant), .dtype = instruction.dtype});
        break;
      case ScalarOp::kIndex:
        if (!scope_.varies(instruction.index)) {
          values.push_back(scalar_index(scope_, instruction.index));
        } else {
          for (int u = 0; u < groups(); ++u)
            values.push_back(vector_index(scope_, instruction.index, u));
        }
        break;
      case ScalarOp::kLoad:
        for (int u = 0; u < (scope_.varies(instruction.index) ? groups() : 1); ++u) {
          values.push_back(load(scope_, instruction.buffer, instruction.index, u));
        }
        break;
      default:
        values = computed(instruction);
    }
    result = std::move(values);
  }

  // Pure and total: computed where the deepest operand is, which may be outside of the loops around
  // us.
  std::vector<Operand> computed(const Instruction& instruction) {
    bool varies = false;
    for (loops::ScalarId arg : instruction.args) varies |= scope_.get(arg, 0).lanes > 1;
    int lanes = varies ? scope_.vector.lanes : 1;
    std::vector<Operand> values;
    for (int u = 0; u < (varies ? groups() : 1); ++u) {
      std::vector<Operand> args;
      int level = 0;
      for (loops::ScalarId arg : instruction.args) {
        args.push_back(varies ? scope_.lanes_of(arg, u) : scope_.get(arg, u));
        level = std::max(level, args.back().level);
      }
      Operand value{.dtype = instruction.dtype, .lanes = lanes, .level = level};
      value.text =
          scalar_op(code_, scope_.traits, instruction.op, instruction.dtype, args, lanes, level);
      values.push_back(value);
    }
    return values;
  }

  // A failed check ends the kernel: the program raises, so nothing that follows matters, and no
  // later access needs to be safe.
  void check(const Check& check) {
    int failure = static_cast<int>(check.code);
    failures_.insert(failure);
    const std::vector<Operand>& conditions = scope_.scalars.at(check.condition);
    std::string holds;
    for (const Operand& condition : conditions) {
      Ops bools(code_, DType::kBool, condition.lanes, code_.level());
      std::string value = condition.text;
      if (condition.lanes > 1) {
        if (!scope_.vector.mask.empty()) {
          std::string off = bools.binary("xor", scope_.vector.mask,
                                         splat_literal(DType::kBool, "true", condition.lanes));
          value = bools.binary("or", value, off);
        }
        std::string bits = cat("i", num(condition.lanes));
        std::string packed =
            code_.define(code_.level(), cat("bitcast ", bools.type(), " ", value, " to ", bits));
        value = code_.define(code_.level(), cat("icmp eq ", bits, " ", packed, ", -1"));
      }
      holds =
          holds.empty() ? value : code_.define(code_.level(), cat("and i1 ", holds, ", ", value));
    }
    std::string go_on = label("checked");
    code_.here() += cat("  br i1 ", holds, ", label %", go_on, ", label %fail", num(failure), "\n");
    code_.start_block(go_on);
  }

  std::string label(std::string_view what) { return cat(what, num(code_.fresh_label())); }

  // ---- loops ----

  struct Range {
    Operand begin, end;
    std::optional<std::int64_t> extent;  // when constant, from 0
  };

  void loop(const Loop& loop) {
    Range range{Operand{.text = "0"}, scalar_index(scope_, loop.extent), loop.extent.as_constant()};
    if (loop.schedule == Schedule::kParallel) {
      range = {Operand{.text = "%begin"}, Operand{.text = "%end"}, std::nullopt};
    }
    scope_.ranges.set_extent(loop.variable, loop.extent);
    bool vector = loop.width > 1 && !scope_.vector.active;
    bool per_lane = !vector && scope_.vector.active;
    Accumulators start(static_cast<std::size_t>(per_lane ? groups() : 1));
    for (auto& group : start) {
      for (const loops::Reduction& r : loop.reductions)
        group.push_back(identity(r, per_lane ? scope_.vector.lanes : 1));
    }
    Accumulators last = start;
    auto run = [&] { return vector ? vector_loop(loop, range) : serial_loop(loop, range, start); };
    if (range.extent) {
      if (*range.extent > 0) last = run();
    } else {
      std::string some =
          code_.define(code_.level(), cat("icmp slt i64 ", range.begin.text, ", ", range.end.text));
      last = conditional(some, start, run);
    }
    for (std::size_t r = 0; r < loop.reductions.size(); ++r) finish(loop.reductions[r], last, r);
    scope_.symbols.erase(loop.variable);
  }

  void finish(const loops::Reduction& reduction, const Accumulators& last, std::size_t r) {
    std::vector<std::vector<Operand>> by_result(reduction.results.size());
    for (const auto& group : last) {
      std::vector<Operand> values = results(code_, reduction, group[r]);
      for (std::size_t k = 0; k < by_result.size(); ++k) {
        values[k].level = code_.level();
        by_result[k].push_back(values[k]);
      }
    }
    for (std::size_t k = 0; k < by_result.size(); ++k)
      scope_.scalars[reduction.results[k]] = by_result[k];
  }

  // Runs `then` where `condition` holds; the accumulators of either way.
  Accumulators conditional(const std::string& condition, const Accumulators& otherwise,
                           const std::function<Accumulators()>& then) {
    std::string inside = label("some");
    std::string behind = label("done");
    std::string from = code_.block();
    code_.here() += cat("  br i1 ", condition, ", label %", inside, ", label %", behind, "\n");
    code_.start_block(inside);
    code_.open_region();  // what is found there again must not be used behind
    Accumulators taken = then();
    append(code_.close_region());
    std::string last = code_.block();
    code_.here() += cat("  br label %", behind, "\n");
    code_.start_block(behind);
    return joined(taken, last, otherwise, from);
  }

  void append(const Code::Texts& texts) { code_.here() += texts.preheader + texts.body; }

  Accumulators joined(const Accumulators& a, const std::string& from_a, const Accumulators& b,
                      const std::string& from_b) {
    Accumulators result = a;
    for (std::size_t u = 0; u < a.size(); ++u) {
      for (std::size_t r = 0; r < a[u].size(); ++r) {
        for (std::size_t k = 0; k < a[u][r].size(); ++k) {
          Operand& part = result[u][r][k];
          part.text =
              code_.define(code_.level(), cat("phi ", register_type(part.dtype, part.lanes), " [ ",
                                              a[u][r][k].text, ", %", from_a, " ], [ ",
                                              b[u][r][k].text, ", %", from_b, " ]"));
          part.level = code_.level();
        }
      }
    }
    return result;
  }

  struct Counter {
    Symbol variable;
    std::string begin, end;
    int step = 1;
  };

  // At least one iteration. `iterate` prints the body and returns the accumulators after it.
  Accumulators counted(const Counter& counter, const Accumulators& start,
                       const std::function<Accumulators(const Accumulators&)>& iterate) {
    std::string name = label("loop");
    std::string before = code_.block();
    code_.open_region();
    Operand variable{.text = cat("%", counter.variable.str(), ".", name), .level = code_.level()};
    scope_.symbols[counter.variable] = variable;
    code_.set_block(name);
    Accumulators current = start;
    for (auto& group : current) {
      for (Accumulator& parts : group) {
        for (Operand& part : parts) {
          part.text = code_.fresh();
          part.level = code_.level();
        }
      }
    }
    Accumulators next = iterate(current);
    std::string latch = code_.block();
    Code::Texts texts = code_.close_region();
    std::string& out = code_.here();
    out += texts.preheader + cat("  br label %", name, "\n", name, ":\n");
    out += cat("  ", variable.text, " = phi i64 [ ", counter.begin, ", %", before, " ], [ ",
               variable.text, ".next, %", latch, " ]\n");
    for_each_part(start, [&](std::size_t u, std::size_t r, std::size_t k, const Operand& first) {
      out +=
          cat("  ", current[u][r][k].text, " = phi ", register_type(first.dtype, first.lanes),
              " [ ", first.text, ", %", before, " ], [ ", next[u][r][k].text, ", %", latch, " ]\n");
    });
    std::string behind = label("after");
    out += texts.body;
    out += cat("  ", variable.text, ".sum = add nuw nsw i64 ", variable.text, ", ",
               num(counter.step), "\n");
    out += cat("  ", variable.text, ".next = call i64 asm \"\", \"=r,0\"(i64 ", variable.text,
               ".sum)\n");
    out += cat("  ", variable.text, ".more = icmp slt i64 ", variable.text, ".next, ", counter.end,
               "\n");
    out += cat("  br i1 ", variable.text, ".more, label %", name, ", label %", behind, "\n");
    code_.start_block(behind);
    for (auto& group : next) {
      for (Accumulator& parts : group) {
        for (Operand& part : parts) part.level = code_.level();
      }
    }
    return next;
  }

  static void for_each_part(
      const Accumulators& all,
      const std::function<void(std::size_t, std::size_t, std::size_t, const Operand&)>& visit) {
    for (std::size_t u = 0; u < all.size(); ++u) {
      for (std::size_t r = 0; r < all[u].size(); ++r) {
        for (std::size_t k = 0; k < all[u][r].size(); ++k) visit(u, r, k, all[u][r][k]);
      }
    }
  }

  Accumulators accumulate_all(const Loop& loop, const Accumulators& before) {
    Accumulators after = before;
    bool own = scope_.vector.active && scope_.vector.variable == loop.variable;
    for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
      const loops::Reduction& reduction = loop.reductions[r];
      bool arg =
          reduction.op == loops::ReduceOp::kArgMin || reduction.op == loops::ReduceOp::kArgMax;
      for (std::size_t u = 0; u < before.size(); ++u) {
        Operand position;
        if (arg) {
          SymExpr i = SymExpr::symbol(loop.variable);
          position = own ? vector_index(scope_, i, static_cast<int>(u))
                         : scope_.broadcast(scalar_index(scope_, i));
        }
        Operand value = scope_.lanes_of(reduction.input, static_cast<int>(u));
        after[u][r] = accumulate(code_, reduction, before[u][r], value, position,
                                 own ? scope_.vector.mask : "");
      }
    }
    return after;
  }

  Accumulators serial_loop(const Loop& loop, const Range& range, const Accumulators& start) {
    if (range.extent && *range.extent == 1) {
      scope_.symbols[loop.variable] = Operand{.text = "0"};
      body(loop.body);
      return accumulate_all(loop, start);
    }
    return counted({loop.variable, range.begin.text, range.end.text, 1}, start,
                   [&](const Accumulators& current) {
                     body(loop.body);
                     return accumulate_all(loop, current);
                   });
  }

  Accumulators vector_loop(const Loop& loop, const Range& range) {
    code_.open_region();
    Accumulators last =
        range.extent ? constant_vector_loop(loop, range) : general_vector_loop(loop, range);
    scope_.vector = VectorContext{};
    for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
      last[0][r] = reduce_lanes(code_, loop.reductions[r], last[0][r]);
    }
    append(code_.close_region());
    return last;
  }

  VectorContext context(const Loop& loop, int unroll) const {
    VectorContext result{
        .active = true, .variable = loop.variable, .lanes = loop.width, .unroll = unroll};
    return result;
  }

  Accumulators identities(const Loop& loop, int unroll) {
    Accumulators result(static_cast<std::size_t>(unroll));
    for (auto& group : result) {
      for (const loops::Reduction& r : loop.reductions) group.push_back(identity(r, loop.width));
    }
    return result;
  }

  Accumulators joined_groups(const Loop& loop, const Accumulators& all) {
    Accumulators one(1);
    for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
      std::vector<Accumulator> left;
      for (const auto& group : all) left.push_back(group[r]);
      while (left.size() > 1) {
        std::vector<Accumulator> pairs;
        for (std::size_t k = 0; k < left.size(); k += 2) {
          pairs.push_back(k + 1 < left.size()
                              ? merge(code_, loop.reductions[r], left[k], left[k + 1])
                              : left[k]);
        }
        left = std::move(pairs);
      }
      one[0].push_back(left.front());
    }
    return one;
  }

  // One iteration. A region of its own: what is remembered for this value of the variable ends with
  // it.
  Accumulators straight(const Loop& loop, const std::string& position, const Accumulators& start,
                        const std::function<Accumulators(const Accumulators&)>& iterate) {
    code_.open_region();
    scope_.symbols[loop.variable] = Operand{.text = position, .level = code_.level()};
    Accumulators last = iterate(start);
    append(code_.close_region());
    return last;
  }

  // Outputs of the loop that are too large for the caches, written vector by vector.
  std::vector<const Store*> large_stores(const Loop& loop) const {
    std::vector<const Store*> found;
    std::int64_t least = scope_.traits.streaming_store_bytes;
    if (least == 0 || !loop.reductions.empty()) return found;
    for (const Statement& statement : loop.body) {
      if (std::holds_alternative<Loop>(statement.data)) return {};
      const auto* store_ = std::get_if<Store>(&statement.data);
      if (store_ == nullptr) continue;
      const loops::Buffer& buffer = scope_.kernel.buffers[store_->buffer];
      auto extent = buffer.extent.as_constant();
      auto linear = store_->index.linear_in(loop.variable);
      int bytes = ir::dtype_bytes(buffer.dtype);
      if (buffer.kind == loops::Buffer::Kind::kOutput && extent && *extent * bytes >= least &&
          linear && *linear->coefficient == SymExpr(1) &&
          bytes * loop.width % scope_.traits.vector_bytes == 0) {
        found.push_back(store_);
      }
    }
    return found;
  }

  // Two versions of the loop: past the caches where the first vector of each large store is
  // aligned.
  Accumulators streaming_vectors(const Loop& loop, int unroll, const std::string& begin,
                                 const std::string& end, const std::vector<const Store*>& stores) {
    code_.helper("!0", "!0 = !{i32 1}\n");
    scope_.vector = context(loop, unroll);
    code_.open_region();
    scope_.symbols[loop.variable] = Operand{.text = begin, .level = code_.level()};
    Ops i64(code_, DType::kI64, 1, code_.level());
    std::string bits;
    for (const Store* store_ : stores) {
      scope_.streamed.insert(store_->buffer);
      std::string pointer = access(scope_, store_->buffer, store_->index, 0).pointer.text;
      std::string address = code_.define(code_.level(), cat("ptrtoint ptr ", pointer, " to i64"));
      bits = bits.empty() ? address : i64.binary("or", bits, address);
    }
    std::string aligned =
        i64.icmp("eq", i64.binary("and", bits, num(scope_.traits.vector_bytes - 1)), "0");
    Accumulators none(1);
    conditional(aligned, none, [&] {
      scope_.streaming = true;
      plain_vectors(loop, unroll, begin, end, false);
      scope_.streaming = false;
      return none;
    });
    std::string unaligned = code_.define(code_.level(), cat("xor i1 ", aligned, ", true"));
    conditional(unaligned, none, [&] {
      plain_vectors(loop, unroll, begin, end, false);
      return none;
    });
    append(code_.close_region());
    return none;
  }

  Accumulators full_vectors(const Loop& loop, int unroll, const std::string& begin,
                            const std::string& end, bool once) {
    std::vector<const Store*> stores = large_stores(loop);
    if (!once && !stores.empty()) return streaming_vectors(loop, unroll, begin, end, stores);
    return plain_vectors(loop, unroll, begin, end, once);
  }

  // Vectors without a mask from begin to end, a positive multiple of width * unroll apart.
  Accumulators plain_vectors(const Loop& loop, int unroll, const std::string& begin,
                             const std::string& end, bool once) {
    scope_.vector = context(loop, unroll);
    Accumulators start = identities(loop, unroll);
    auto iterate = [&](const Accumulators& current) {
      scope_.vector.level = code_.level();
      body(loop.body);
      return accumulate_all(loop, current);
    };
    Accumulators all;
    if (once) {
      all = straight(loop, begin, start, iterate);
    } else {
      all = counted({loop.variable, begin, end, loop.width * unroll}, start, iterate);
    }
    return joined_groups(loop, all);
  }

  // One vector at a time from begin to end, masked; scalar code when the machine has no masked
  // memory.
  Accumulators tail(const Loop& loop, const std::string& begin, const std::string& end,
                    const Accumulators& before, std::optional<std::int64_t> count) {
    if (!scope_.traits.masked_memory) return scalar_tail(loop, begin, end, before);
    scope_.vector = context(loop, 1);
    auto iterate = [&](const Accumulators& current) {
      scope_.vector.level = code_.level();
      body(loop.body);
      return accumulate_all(loop, current);
    };
    if (count && *count <= loop.width) {
      scope_.vector.mask = constant_mask(loop.width, *count);
      return straight(loop, begin, before, iterate);
    }
    return counted(
        {loop.variable, begin, end, loop.width}, before, [&](const Accumulators& current) {
          scope_.vector.mask = mask_until(scope_.symbols.at(loop.variable).text, end, loop.width);
          return iterate(current);
        });
  }

  Accumulators last_vector(const Loop& loop, const std::string& begin, const std::string& end,
                           const Accumulators& before) {
    scope_.vector = context(loop, 1);
    scope_.vector.mask = mask_until(begin, end, loop.width);
    return straight(loop, begin, before, [&](const Accumulators& current) {
      scope_.vector.level = code_.level();
      body(loop.body);
      return accumulate_all(loop, current);
    });
  }

  // The lanes become one before the scalar loop; its results come back as lane 0 of otherwise empty
  // lanes.
  Accumulators scalar_tail(const Loop& loop, const std::string& begin, const std::string& end,
                           const Accumulators& before) {
    Accumulators start(1);
    for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
      start[0].push_back(reduce_lanes(code_, loop.reductions[r], before[0][r]));
    }
    scope_.vector = VectorContext{.active = true, .variable = loop.variable};
    Accumulators last =
        counted({loop.variable, begin, end, 1}, start, [&](const Accumulators& current) {
          scope_.vector.level = code_.level();
          body(loop.body);
          return accumulate_all(loop, current);
        });
    for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
      Accumulator empty = identity(loop.reductions[r], loop.width);
      for (std::size_t k = 0; k < empty.size(); ++k) {
        const Operand& part = last[0][r][k];
        empty[k].text = code_.define(
            code_.level(), cat("insertelement ", empty[k].typed(), ", ", part.typed(), ", i64 0"));
        empty[k].level = code_.level();
      }
      last[0][r] = empty;
    }
    return last;
  }

  static std::string constant_mask(int lanes, std::int64_t count) {
    std::string text = "<";
    for (int lane = 0; lane < lanes; ++lane)
      text += cat(lane == 0 ? "" : ", ", "i1 ", lane < count ? "true" : "false");
    return text + ">";
  }

  std::string mask_until(const std::string& position, const std::string& end, int lanes) {
    Ops i64(code_, DType::kI64, 1, code_.level());
    std::string left = i64.intrinsic("llvm.umin", {i64.binary("sub", end, position), num(lanes)});
    Operand narrow{.text = i64.convert("trunc", left, DType::kI32),
                   .dtype = DType::kI32,
                   .level = code_.level()};
    Operand wide = scope_.broadcast(narrow);
    return code_.define(code_.level(),
                        cat("icmp ugt ", wide.typed(), ", ", iota_literal("i32", lanes, 0, 1)));
  }

  // In additions, roughly; a body that is printed once gets masks instead of a tail.
  static constexpr int kLargeBody = 24;

  static int weight(const std::vector<Statement>& statements) {
    int sum = 0;
    for (const Statement& statement : statements) {
      if (const auto* instruction_ = std::get_if<Instruction>(&statement.data)) {
        sum += loops::info(instruction_->op).cost;
      } else if (const auto* loop_ = std::get_if<Loop>(&statement.data)) {
        sum += weight(loop_->body) + static_cast<int>(loop_->reductions.size());
      }
    }
    return sum;
  }

  bool printed_once(const Loop& loop) const {
    return scope_.traits.masked_memory && loop.unroll == 1 && weight(loop.body) >= kLargeBody;
  }

  Accumulators constant_vector_loop(const Loop& loop, const Range& range) {
    std::int64_t extent = *range.extent;
    if (extent % loop.width != 0 && extent > loop.width && printed_once(loop)) {
      return tail(loop, "0", num(extent), identities(loop, 1), extent);
    }
    int unroll = static_cast<int>(std::clamp<std::int64_t>(extent / loop.width, 1, loop.unroll));
    std::int64_t step = static_cast<std::int64_t>(loop.width) * unroll;
    std::int64_t main = extent / step * step;
    Accumulators last = identities(loop, 1);
    if (main > 0) last = full_vectors(loop, unroll, "0", num(main), main == step);
    if (main < extent) last = tail(loop, num(main), num(extent), last, extent - main);
    return last;
  }

  Accumulators general_vector_loop(const Loop& loop, const Range& range) {
    Accumulators none = identities(loop, 1);
    if (printed_once(loop)) return tail(loop, range.begin.text, range.end.text, none, std::nullopt);
    int step = loop.width * loop.unroll;
    Ops ops(code_, DType::kI64, 1, code_.level());
    std::string count = ops.binary("sub", range.end.text, range.begin.text);
    bool power_of_two = (step & (step - 1)) == 0;
    std::string whole = power_of_two
                            ? ops.binary("and", count, num(-step))
                            : ops.binary("mul", ops.binary("udiv", count, num(step)), num(step));
    std::string middle = ops.binary("add", range.begin.text, whole);
    Accumulators main = conditional(ops.icmp("slt", range.begin.text, middle), none, [&] {
      return full_vectors(loop, loop.unroll, range.begin.text, middle, false);
    });
    bool once = loop.unroll == 1 && scope_.traits.masked_memory;  // less than one vector is left
    return conditional(ops.icmp("slt", middle, range.end.text), main, [&] {
      return once ? last_vector(loop, middle, range.end.text, main)
                  : tail(loop, middle, range.end.text, main, std::nullopt);
    });
  }

  Scope scope_;
  Code& code_;
  std::set<int> failures_;
};

bool has_form(DType dtype) {
  switch (dtype) {
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
      return false;
    default:
      return true;
  }
}

}  // namespace

Result<FunctionText> write_function(const Kernel& kernel, const mapping::Traits& traits) {
  for (const loops::Buffer& buffer : kernel.buffers) {
    if (has_form(buffer.dtype)) continue;
    return unsupported("writers.dtype",
                       cat("kernel ", kernel.name, ": buffer %", buffer.name, " has dtype ",
                           ir::dtype_name(buffer.dtype), ", which LLVM code has no form for"));
  }
  return Writer(kernel, traits).run();
}

}  // namespace triptych::writers::llvm
