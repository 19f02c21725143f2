// A pointwise kernel: the loop with the most unit strides becomes the vector loop, the others the
// parallel one; over contiguous memory they have collapsed into one loop that is both. A row
// kernel: rows in parallel, loops over a row in vectors; when the row runs across memory (a column
// reduction) its columns are the vector loop and the loops over rows stay serial inside.
#include "codegen/mapping/simd_mapper.h"

#include <algorithm>
#include <bit>

#include "codegen/loops/cleanup.h"
#include "codegen/loops/loop_tree.h"
#include "codegen/loops/scalar_types.h"
#include "codegen/mapping/vector_choice.h"

namespace triptych::mapping {
namespace {

using loops::Affine;
using loops::Body;
using loops::Buffer;
using loops::Instruction;
using loops::Kernel;
using loops::Loop;
using loops::Nest;
using loops::ReduceOp;
using loops::Reduction;
using loops::Schedule;
using loops::Statement;
using loops::Store;
using loops::Symbol;
using loops::SymExpr;

constexpr std::int64_t kEnoughParallel =
    64;  // iterations that keep every core of a large machine busy
// Sums longer than `longest` are added in blocks: error grows with the block, not the sum. A row's
// elements are spread over the lanes of a vector, a column's all go to one.
struct SumBlocks {
  std::int64_t longest, block;
};
constexpr SumBlocks kRowSums{16384, 4096};
constexpr SumBlocks kColumnSums{1024, 256};
constexpr std::int64_t kColumnTile = 64;
constexpr int kLineBytes = 128;          // two lines: they are fetched in pairs
constexpr std::int64_t kWideEnough = 8;  // iterations along memory that make blocking worth while

std::int64_t size_or(const SymExpr& e, std::int64_t symbolic) {
  return e.as_constant().value_or(symbolic);
}

class SimdMapper {
 public:
  SimdMapper(Kernel kernel, const Traits& traits) : kernel_(std::move(kernel)), traits_(traits) {}

  Kernel run() {
    loops::normalize_loops(kernel_);
    next_variable_ = count_loops();
    Nest nest = loops::take_nest(std::move(kernel_.body));
    if (nest.loops.empty()) {
      vectorize(nest.body);
      kernel_.body = std::move(nest.body);
    } else if (!loops::has_loops(nest.body)) {
      kernel_.body = pointwise(std::move(nest));
    } else {
      kernel_.body = rows(std::move(nest));
    }
    loops::hoist_invariants(kernel_);
    loops::eliminate_common(kernel_);
    return std::move(kernel_);
  }

 private:
  std::size_t count_loops() const {
    std::size_t count = 0;
    loops::for_each_statement(kernel_.body, [&](const Statement& s) {
      count += std::holds_alternative<Loop>(s.data) ? 1 : 0;
    });
    return count;
  }
  Symbol fresh_variable() {  // "m" for mapping: never an "i" of the kernel
    return Symbol("m" + std::to_string(next_variable_++));
  }

  // Puts the best vector loop last and the others in memory order.
  void order(Nest& nest) {
    const auto narrow = [&](const Loop& loop) { return size_or(loop.extent, 1 << 20) < 4; };
    const std::vector<int> scores = nest_scores(nest);
    std::size_t best = nest.loops.size() - 1;
    for (std::size_t i = nest.loops.size() - 1; i-- > 0;) {
      const bool better = narrow(nest.loops[i]) == narrow(nest.loops[best])
                              ? scores[i] > scores[best]
                              : narrow(nest.loops[best]);
      if (better) best = i;
    }
    std::rotate(nest.loops.begin() + static_cast<long>(best),
                nest.loops.begin() + static_cast<long>(best) + 1, nest.loops.end());
  }
  Body pointwise(Nest nest) {
    order(nest);
    loops::collapse(nest);
    const std::size_t across = transposed_loop(nest);
    Loop& vector = nest.loops.back();
    make_vector(vector, nest.body);
    if (across < nest.loops.size()) return transposed(std::move(nest), across);
    if (nest.loops.size() == 1) {
      vector.schedule = Schedule::kParallel;
      return loops::rebuild(std::move(nest));
    }
    return parallelize(std::move(nest), nest.loops.size() - 1);
  }

  // A loop along which something is contiguous that the vector loop (the last one) gathers with a
  // stride.
  static std::size_t transposed_loop(const Nest& nest) {
    std::vector<Symbol> variables;
    for (const Loop& loop : nest.loops) variables.push_back(loop.variable);
    for (const Statement& statement : nest.body) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      if (load == nullptr || load->op != loops::ScalarOp::kLoad) continue;
      const Affine affine = loops::affine_in(load->index, variables);
      if (!affine.linear) continue;
      const SymExpr& stride = affine.coefficient(variables.back());
      if (stride == SymExpr(0) || stride == SymExpr(1)) continue;
      for (std::size_t i = 0; i + 1 < variables.size(); ++i) {
        const bool wide = size_or(nest.loops[i].extent, 1 << 20) >= kWideEnough;
        if (wide && affine.coefficient(variables[i]) == SymExpr(1)) return i;
      }
    }
    return nest.loops.size();
  }

  // The loop across runs inside the vector loop: the lines that one gather touches serve the next
  // ones.
  Body transposed(Nest nest, std::size_t across) {
    Loop inside = std::move(nest.loops[across]);
    nest.loops.erase(nest.loops.begin() + static_cast<long>(across));
    nest.loops.back().unroll = 1;
    inside.body = std::move(nest.body);
    nest.body.clear();
    nest.body.push_back(Statement{std::move(inside)});
    if (nest.loops.size() > 1) return parallelize(std::move(nest), nest.loops.size() - 1);
    nest.loops.back().schedule = Schedule::kParallel;
    return loops::rebuild(std::move(nest));
  }

  void make_vector(Loop& loop, const Body& body) {
    loop.schedule = Schedule::kVector;
    int width = vector_width(kernel_, body, traits_);
    if (const auto extent = loop.extent.as_constant(); extent && *extent > 0 && *extent < width) {
      width = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(*extent)));
    }
    loop.width = width;
    loop.unroll = unroll_factor(body, !loop.reductions.empty());
    if (const auto extent = loop.extent.as_constant()) {
      // Whole steps only, if whole vectors do: a tail is text to compile.
      const auto fits = [&](int unroll) {
        return unroll * width <= *extent &&
               (*extent % width != 0 || *extent % (unroll * width) == 0);
      };
      while (loop.unroll > 1 && !fits(loop.unroll)) loop.unroll /= 2;
    }
    if (width == 1) {  // nothing to gain: a plain loop
      loop.schedule = Schedule::kSerial;
      loop.unroll = 1;
    }
  }

  // Makes one parallel loop of as many of the first `count` loops as give enough iterations.
  Body parallelize(Nest nest, std::size_t count) {
    const bool empty = std::any_of(nest.loops.begin(), nest.loops.end(),
                                   [](const Loop& loop) { return loop.extent == SymExpr(0); });
    std::size_t used = 1;
    std::int64_t iterations = size_or(nest.loops[0].extent, kEnoughParallel);
    while (!empty && used < count && iterations < kEnoughParallel) {
      iterations *= std::max<std::int64_t>(1, size_or(nest.loops[used].extent, kEnoughParallel));
      ++used;
    }
    if (used > 1) {
      const Symbol variable = fresh_variable();
      std::map<Symbol, SymExpr> values;
      SymExpr stride(1);
      for (std::size_t i = used; i-- > 0;) {
        const SymExpr position = floordiv(SymExpr::symbol(variable), stride);
        values[nest.loops[i].variable] = i == 0 ? position : mod(position, nest.loops[i].extent);
        stride *= nest.loops[i].extent;
      }
      loops::substitute(nest.body, values);
      for (std::size_t i = used; i < nest.loops.size(); ++i) {
        nest.loops[i].extent =
            nest.loops[i].extent.substitute([&](Symbol s) -> std::optional<SymExpr> {
              const auto found = values.find(s);
              if (found == values.end()) return std::nullopt;
              return found->second;
            });
      }
      simplify_indices(nest, variable, stride);
      Loop merged;
      merged.variable = variable;
      merged.extent = stride;
      nest.loops.erase(nest.loops.begin(), nest.loops.begin() + static_cast<long>(used));
      nest.loops.insert(nest.loops.begin(), std::move(merged));
    }
    nest.loops[0].schedule = Schedule::kParallel;
    return loops::rebuild(std::move(nest));
  }

  // a*(m//n) + m%n is one term again where the loops merged are neighbours in memory.
  static void simplify_indices(Nest& nest, Symbol variable, const SymExpr& extent) {
    ir::SymRanges ranges;
    ranges.set_extent(variable, extent);
    for (const Loop& loop : nest.loops) ranges.set_extent(loop.variable, loop.extent);
    loops::for_each_statement(nest.body, [&](const Statement& statement) {
      if (const auto* loop = std::get_if<Loop>(&statement.data))
        ranges.set_extent(loop->variable, loop->extent);
    });
    loops::for_each_index(nest.body, [&](SymExpr& e) {
      if (!e.is_constant() && e.depends_on(variable)) e = simplify(e, ranges);
    });
  }

  // Rows: are the loops inside, or an outer loop, the better vector loop?
  Body rows(Nest nest) {
    std::size_t column = nest.loops.size();
    int best = inner_score(nest.body);
    for (std::size_t i = nest.loops.size(); i-- > 0;) {
      if (size_or(nest.loops[i].extent, 1 << 20) < 8 ||
          extent_depends(nest.body, nest.loops[i].variable)) {
        continue;
      }
      const int score = vector_score(nest.body, nest.loops[i].variable);
      if (score > best) {
        best = score;
        column = i;
      }
    }
    if (column < nest.loops.size()) return columns(std::move(nest), column);
    vectorize(nest.body);
    return parallelize(std::move(nest), nest.loops.size());
  }

  bool has_locals() const {
    return std::any_of(kernel_.buffers.begin(), kernel_.buffers.end(),
                       [](const Buffer& b) { return b.kind == Buffer::Kind::kLocal; });
  }
  static bool extent_depends(const Body& body, Symbol variable) {
    bool result = false;
    loops::for_each_statement(body, [&](const Statement& s) {
      const auto* loop = std::get_if<Loop>(&s.data);
      result = result || (loop != nullptr && loop->extent.depends_on(variable));
    });
    return result;
  }

  // The score when each innermost loop is a vector loop.
  static int inner_score(const Body& body) {
    int score = 0;
    for (const Statement& statement : body) {
      const auto* loop = std::get_if<Loop>(&statement.data);
      if (loop == nullptr) continue;
      score += 8 * (loops::has_loops(loop->body) ? inner_score(loop->body)
                                                 : vector_score(loop->body, loop->variable));
    }
    return score;
  }

  Body columns(Nest nest, std::size_t column) {
    std::rotate(nest.loops.begin() + static_cast<long>(column),
                nest.loops.begin() + static_cast<long>(column) + 1, nest.loops.end());
    for (Statement& statement : nest.body) {
      if (auto* loop = std::get_if<Loop>(&statement.data)) block_sums(*loop, kColumnSums);
    }
    Loop& vector = nest.loops.back();
    make_vector(vector, nest.body);
    take_whole_lines(vector, nest.body);
    if (has_locals()) {
      const int lanes = vector.width * vector.unroll;
      tile(nest, lanes);
      widen_locals(nest, lanes);
      return parallelize(std::move(nest), nest.loops.size() - 1);
    }
    if (nest.loops.size() == 1) {
      vector.schedule = Schedule::kParallel;
      return loops::rebuild(std::move(nest));
    }
    std::int64_t outer = 1;
    for (std::size_t i = 0; i + 1 < nest.loops.size(); ++i) {
      outer *= std::max<std::int64_t>(1, size_or(nest.loops[i].extent, kEnoughParallel));
    }
    if (outer < kEnoughParallel && size_or(vector.extent, 1 << 20) >= 2 * kColumnTile) {
      tile(nest, kColumnTile);
    }
    return parallelize(std::move(nest), nest.loops.size() - 1);
  }

  // Walking down columns meets a new line of memory in every row: all of it is worth taking.
  void take_whole_lines(Loop& vector, const Body& body) {
    int narrowest = 8;
    loops::for_each_statement(body, [&](const Statement& statement) {
      const auto* load = std::get_if<Instruction>(&statement.data);
      if (load == nullptr || load->op != loops::ScalarOp::kLoad) return;
      if (!load->index.depends_on(vector.variable)) return;
      narrowest = std::min(narrowest, ir::dtype_bytes(load->dtype));
    });
    if (narrowest < 2) return;  // what is read of such columns is little beside what is computed
    const auto extent = vector.extent.as_constant();
    while (vector.width * vector.unroll * narrowest < kLineBytes &&
           (!extent || *extent % (2 * vector.unroll * vector.width) == 0)) {
      vector.unroll *= 2;
    }
  }

  // The vector loop over columns becomes tiles, one more parallel dimension, of a few vectors each.
  void tile(Nest& nest, std::int64_t size) {
    Loop& vector = nest.loops.back();
    Loop tiles;
    tiles.variable = fresh_variable();
    tiles.extent = ceildiv(vector.extent, SymExpr(size));
    const SymExpr begin = SymExpr::symbol(tiles.variable) * SymExpr(size);
    loops::substitute(nest.body, vector.variable, SymExpr::symbol(vector.variable) + begin);
    const auto constant = vector.extent.as_constant();
    const bool even = constant && *constant % size == 0;
    vector.extent = even ? SymExpr(size) : min(SymExpr(size), vector.extent - begin);
    nest.loops.insert(nest.loops.end() - 1, std::move(tiles));
  }

  // Each column of a tile has a row of its own in every local, the columns side by side.
  void widen_locals(Nest& nest, std::int64_t lanes) {
    const SymExpr column = SymExpr::symbol(nest.loops.back().variable);
    const auto widen = [&](SymExpr& index) { index = index * SymExpr(lanes) + column; };
    loops::for_each_statement(nest.body, [&](Statement& statement) {
      if (auto* store = std::get_if<Store>(&statement.data)) {
        if (kernel_.buffers[store->buffer].kind == Buffer::Kind::kLocal) widen(store->index);
      } else if (auto* load = std::get_if<Instruction>(&statement.data)) {
        if (load->op != loops::ScalarOp::kLoad) return;
        if (kernel_.buffers[load->buffer].kind == Buffer::Kind::kLocal) widen(load->index);
      }
    });
    for (Buffer& buffer : kernel_.buffers) {
      if (buffer.kind == Buffer::Kind::kLocal) buffer.extent *= SymExpr(lanes);
    }
  }

  // Loops inside a row (or of a kernel without outer loops).
  void vectorize(Body& body) {
    for (Statement& statement : body) {
      auto* loop = std::get_if<Loop>(&statement.data);
      if (loop == nullptr) continue;
      if (!loops::has_loops(loop->body)) {
        make_vector(*loop, loop->body);
        block_sums(*loop, kRowSums);
        continue;
      }
      if (loop->reductions.empty()) {
        Body single;
        single.push_back(std::move(statement));
        Nest nest = loops::take_nest(std::move(single));
        if (nest.loops.size() > 1 && !loops::has_loops(nest.body)) {
          order(nest);
          loops::collapse(nest);
          make_vector(nest.loops.back(), nest.body);
        } else {
          vectorize(nest.body);
        }
        Body rebuilt = loops::rebuild(std::move(nest));
        statement = std::move(rebuilt[0]);
        continue;
      }
      vectorize(loop->body);
    }
  }

  // for i in N reduce(r = sum x) -> for b in N/B reduce(r = sum p) { for j in B reduce(p = sum x) }
  void block_sums(Loop& loop, const SumBlocks& sizes) {
    const bool sums = std::any_of(
        loop.reductions.begin(), loop.reductions.end(),
        [](const Reduction& r) { return r.op == ReduceOp::kSum && ir::is_floating(r.dtype); });
    const bool plain = std::all_of(loop.reductions.begin(), loop.reductions.end(),
                                   [](const Reduction& r) { return r.results.size() == 1; });
    if (!sums || !plain || size_or(loop.extent, sizes.longest + 1) <= sizes.longest) return;
    Loop outer;
    outer.variable = fresh_variable();
    outer.extent = ceildiv(loop.extent, SymExpr(sizes.block));
    const SymExpr begin = SymExpr::symbol(outer.variable) * SymExpr(sizes.block);
    loops::substitute(loop.body, loop.variable, SymExpr::symbol(loop.variable) + begin);
    const auto constant = loop.extent.as_constant();
    const bool even = constant && *constant % sizes.block == 0;
    loop.extent = even ? SymExpr(sizes.block) : min(SymExpr(sizes.block), loop.extent - begin);
    outer.reductions = loop.reductions;
    for (std::size_t i = 0; i < loop.reductions.size(); ++i) {
      const loops::ScalarId partial = kernel_.new_scalar();
      loop.reductions[i].results = {partial};
      outer.reductions[i].input = partial;
    }
    outer.body.push_back(Statement{std::move(loop)});
    loop = std::move(outer);
  }

  Kernel kernel_;
  const Traits& traits_;
  std::size_t next_variable_ = 0;
};

}  // namespace

Kernel map_to_simd(Kernel kernel, const Traits& traits) {
  return SimdMapper(std::move(kernel), traits).run();
}

}  // namespace triptych::mapping
