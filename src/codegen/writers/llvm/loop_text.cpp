// The counter passes through an empty piece of assembly that emits nothing. It hides the induction
// variable from LLVM's loop strength reduction, which takes 40 % of the compile time here and has
// nothing to improve: addresses already are base plus counter.
#include <algorithm>
#include <utility>

#include "codegen/writers/llvm/index_text.h"
#include "codegen/writers/llvm/kernel_writer.h"

namespace triptych::writers::llvm {

void KernelWriter::loop(const Loop& loop) {
  Range range{Operand{.text = "0"}, scalar_index(scope_, loop.extent), loop.extent.as_constant()};
  if (loop.schedule == Schedule::kParallel) {
    range = {Operand{.text = "%begin"}, Operand{.text = "%end"}, std::nullopt};
    // A launcher's chunks begin at such multiples.
    const auto extent = loop.extent.as_constant();
    range.whole = extent && *extent % (loop.width * loop.unroll) == 0;
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

void KernelWriter::finish(const loops::Reduction& reduction, const Accumulators& last,
                          std::size_t r) {
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

Accumulators KernelWriter::conditional(const std::string& condition, const Accumulators& otherwise,
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

Accumulators KernelWriter::joined(const Accumulators& a, const std::string& from_a,
                                  const Accumulators& b, const std::string& from_b) {
  Accumulators result = a;
  for (std::size_t u = 0; u < a.size(); ++u) {
    for (std::size_t r = 0; r < a[u].size(); ++r) {
      for (std::size_t k = 0; k < a[u][r].size(); ++k) {
        Operand& part = result[u][r][k];
        part.text = code_.define(code_.level(), cat("phi ", register_type(part.dtype, part.lanes),
                                                    " [ ", a[u][r][k].text, ", %", from_a, " ], [ ",
                                                    b[u][r][k].text, ", %", from_b, " ]"));
        part.level = code_.level();
      }
    }
  }
  return result;
}

Accumulators KernelWriter::counted(
    const Counter& counter, const Accumulators& start,
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
        cat("  ", current[u][r][k].text, " = phi ", register_type(first.dtype, first.lanes), " [ ",
            first.text, ", %", before, " ], [ ", next[u][r][k].text, ", %", latch, " ]\n");
  });
  std::string behind = label("after");
  out += texts.body;
  out += cat("  ", variable.text, ".sum = add nuw nsw i64 ", variable.text, ", ", num(counter.step),
             "\n");
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

void KernelWriter::for_each_part(
    const Accumulators& all,
    const std::function<void(std::size_t, std::size_t, std::size_t, const Operand&)>& visit) {
  for (std::size_t u = 0; u < all.size(); ++u) {
    for (std::size_t r = 0; r < all[u].size(); ++r) {
      for (std::size_t k = 0; k < all[u][r].size(); ++k) visit(u, r, k, all[u][r][k]);
    }
  }
}

Accumulators KernelWriter::accumulate_all(const Loop& loop, const Accumulators& before) {
  Accumulators after = before;
  bool own = scope_.vector.active && scope_.vector.variable == loop.variable;
  for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
    const loops::Reduction& reduction = loop.reductions[r];
    bool arg = reduction.op == loops::ReduceOp::kArgMin || reduction.op == loops::ReduceOp::kArgMax;
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

Accumulators KernelWriter::serial_loop(const Loop& loop, const Range& range,
                                       const Accumulators& start) {
  if (range.extent && *range.extent == 1) {
    scope_.symbols[loop.variable] = Operand{.text = "0"};
    body(loop.body);
    return accumulate_all(loop, start);
  }
  const bool is_row = !scope_.vector.active;
  if (is_row) prefetch_.enter_row(loop);
  Accumulators last = counted({loop.variable, range.begin.text, range.end.text, 1}, start,
                              [&](const Accumulators& current) {
                                body(loop.body);
                                return accumulate_all(loop, current);
                              });
  if (is_row) prefetch_.leave_row();
  return last;
}

}  // namespace triptych::writers::llvm
