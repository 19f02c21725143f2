// A vector loop of W lanes and unroll U over N iterations becomes
//
//   main loop, U full vectors at a time            while i + U*W <= N
//   tail, one vector with a mask at a time         while i < N
//
// Whichever of the two cannot run for a constant N is left out, and what runs once is no loop: a
// parallel loop of whole vectors has no tail, since a launcher's chunks begin at whole vectors.
// Machines without masked memory run the tail in scalar code. Accumulators: one vector for each of
// the U groups, joined behind the main loop, reduced to a scalar behind the tail. A large body is
// printed once, with a mask in every iteration: what the mask costs is little beside it, and
// compile time grows with the text.
#include <algorithm>
#include <utility>

#include "codegen/writers/llvm/index_text.h"
#include "codegen/writers/llvm/kernel_writer.h"

namespace triptych::writers::llvm {

Accumulators KernelWriter::vector_loop(const Loop& loop, const Range& range) {
  code_.open_region();
  prefetch_.begin(loop);
  Accumulators last =
      range.extent ? constant_vector_loop(loop, range) : general_vector_loop(loop, range);
  prefetch_.end(loop);
  scope_.vector = VectorContext{};
  for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
    last[0][r] = reduce_lanes(code_, loop.reductions[r], last[0][r]);
  }
  append(code_.close_region());
  return last;
}

VectorContext KernelWriter::context(const Loop& loop, int unroll) const {
  VectorContext result{
      .active = true, .variable = loop.variable, .lanes = loop.width, .unroll = unroll};
  return result;
}

Accumulators KernelWriter::identities(const Loop& loop, int unroll) {
  Accumulators result(static_cast<std::size_t>(unroll));
  for (auto& group : result) {
    for (const loops::Reduction& r : loop.reductions) group.push_back(identity(r, loop.width));
  }
  return result;
}

Accumulators KernelWriter::joined_groups(const Loop& loop, const Accumulators& all) {
  Accumulators one(1);
  for (std::size_t r = 0; r < loop.reductions.size(); ++r) {
    std::vector<Accumulator> left;
    for (const auto& group : all) left.push_back(group[r]);
    while (left.size() > 1) {
      std::vector<Accumulator> pairs;
      for (std::size_t k = 0; k < left.size(); k += 2) {
        pairs.push_back(k + 1 < left.size() ? merge(code_, loop.reductions[r], left[k], left[k + 1])
                                            : left[k]);
      }
      left = std::move(pairs);
    }
    one[0].push_back(left.front());
  }
  return one;
}

Accumulators KernelWriter::straight(
    const Loop& loop, const std::string& position, const Accumulators& start,
    const std::function<Accumulators(const Accumulators&)>& iterate) {
  code_.open_region();
  scope_.symbols[loop.variable] = Operand{.text = position, .level = code_.level()};
  Accumulators last = iterate(start);
  append(code_.close_region());
  return last;
}

std::vector<const Store*> KernelWriter::large_stores(const Loop& loop) const {
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
    // Of unknown size: two versions of a body are printed, so only of a small one.
    const bool large = extent ? *extent * bytes >= least : weight(loop.body) <= kSmallBody;
    if (buffer.kind == loops::Buffer::Kind::kOutput && large && linear &&
        *linear->coefficient == SymExpr(1) &&
        bytes * loop.width % scope_.traits.vector_bytes == 0) {
      found.push_back(store_);
    }
  }
  return found;
}

Accumulators KernelWriter::streaming_vectors(const Loop& loop, int unroll, const std::string& begin,
                                             const std::string& end,
                                             const std::vector<const Store*>& stores) {
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
  for (const Store* store_ : stores) {
    const loops::Buffer& buffer = scope_.kernel.buffers[store_->buffer];
    if (buffer.extent.is_constant()) continue;
    const SymExpr bytes = buffer.extent * SymExpr(ir::dtype_bytes(buffer.dtype));
    std::string large =
        i64.icmp("sge", scalar_index(scope_, bytes).text, num(scope_.traits.streaming_store_bytes));
    aligned = code_.define(code_.level(), cat("and i1 ", aligned, ", ", large));
  }
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

Accumulators KernelWriter::full_vectors(const Loop& loop, int unroll, const std::string& begin,
                                        const std::string& end, bool once) {
  std::vector<const Store*> stores = large_stores(loop);
  if (!once && !stores.empty()) return streaming_vectors(loop, unroll, begin, end, stores);
  return plain_vectors(loop, unroll, begin, end, once);
}

Accumulators KernelWriter::plain_vectors(const Loop& loop, int unroll, const std::string& begin,
                                         const std::string& end, bool once) {
  scope_.vector = context(loop, unroll);
  Accumulators start = identities(loop, unroll);
  auto iterate = [&](const Accumulators& current) {
    scope_.vector.level = code_.level();
    prefetch_.print();
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

Accumulators KernelWriter::tail(const Loop& loop, const std::string& begin, const std::string& end,
                                const Accumulators& before, std::optional<std::int64_t> count) {
  if (!scope_.traits.masked_memory) return scalar_tail(loop, begin, end, before);
  scope_.vector = context(loop, 1);
  auto iterate = [&](const Accumulators& current) {
    scope_.vector.level = code_.level();
    prefetch_.print();
    body(loop.body);
    return accumulate_all(loop, current);
  };
  if (count && *count <= loop.width) {
    scope_.vector.mask = constant_mask(loop.width, *count);
    return straight(loop, begin, before, iterate);
  }
  return counted({loop.variable, begin, end, loop.width}, before, [&](const Accumulators& current) {
    scope_.vector.mask = mask_until(scope_.symbols.at(loop.variable).text, end, loop.width);
    return iterate(current);
  });
}

Accumulators KernelWriter::last_vector(const Loop& loop, const std::string& begin,
                                       const std::string& end, const Accumulators& before) {
  scope_.vector = context(loop, 1);
  scope_.vector.mask = mask_until(begin, end, loop.width);
  return straight(loop, begin, before, [&](const Accumulators& current) {
    scope_.vector.level = code_.level();
    prefetch_.print();
    body(loop.body);
    return accumulate_all(loop, current);
  });
}

Accumulators KernelWriter::scalar_tail(const Loop& loop, const std::string& begin,
                                       const std::string& end, const Accumulators& before) {
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

std::string KernelWriter::constant_mask(int lanes, std::int64_t count) {
  std::string text = "<";
  for (int lane = 0; lane < lanes; ++lane)
    text += cat(lane == 0 ? "" : ", ", "i1 ", lane < count ? "true" : "false");
  return text + ">";
}

std::string KernelWriter::mask_until(const std::string& position, const std::string& end,
                                     int lanes) {
  Ops i64(code_, DType::kI64, 1, code_.level());
  std::string left = i64.intrinsic("llvm.umin", {i64.binary("sub", end, position), num(lanes)});
  Operand narrow{.text = i64.convert("trunc", left, DType::kI32),
                 .dtype = DType::kI32,
                 .level = code_.level()};
  Operand wide = scope_.broadcast(narrow);
  return code_.define(code_.level(),
                      cat("icmp ugt ", wide.typed(), ", ", iota_literal("i32", lanes, 0, 1)));
}

int KernelWriter::weight(const std::vector<Statement>& statements) {
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

bool KernelWriter::printed_once(const Loop& loop) const {
  return scope_.traits.masked_memory && loop.unroll == 1 && weight(loop.body) >= kLargeBody;
}

Accumulators KernelWriter::constant_vector_loop(const Loop& loop, const Range& range) {
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

Accumulators KernelWriter::general_vector_loop(const Loop& loop, const Range& range) {
  if (range.whole) {
    return full_vectors(loop, loop.unroll, range.begin.text, range.end.text, false);
  }
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

}  // namespace triptych::writers::llvm
