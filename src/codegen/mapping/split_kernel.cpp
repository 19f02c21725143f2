#include "codegen/mapping/split_kernel.h"

#include <algorithm>

#include "codegen/loops/cleanup.h"
#include "codegen/loops/loop_tree.h"
#include "codegen/mapping/merge_parts.h"
#include "codegen/mapping/vector_choice.h"

namespace triptych::mapping {
namespace {

using ir::ValueId;
using loops::Body;
using loops::Buffer;
using loops::BufferId;
using loops::Instruction;
using loops::Kernel;
using loops::KernelItem;
using loops::Loop;
using loops::Nest;
using loops::Reduction;
using loops::ScalarId;
using loops::Statement;
using loops::Store;
using loops::Symbol;
using loops::SymExpr;

constexpr std::int64_t kEnoughParallel = 16;  // rows that keep the cores of a common machine busy
constexpr std::int64_t kParts = 64;           // aimed at when a reduction is split
constexpr std::int64_t kLargeWork = 1 << 16;  // iterations below which a second launch does not pay
constexpr std::int64_t kLeastChunk = 1024;    // iterations of one part
constexpr std::int64_t kColumnTile = 64;  // columns that one iteration takes in column reductions
constexpr std::int64_t kTall = 512;       // rows of a column reduction: more are taken in chunks
constexpr std::int64_t kTallChunk =
    64;  // of this many rows: their pages fit the first translation cache

// Buffers of the kernel in order of use, with the values behind them.
KernelItem finished(Kernel kernel, const std::vector<ValueId>& values) {
  loops::eliminate_dead(kernel);
  KernelItem item;
  for (BufferId old : loops::order_buffers(kernel)) {
    if (values[old.value].valid()) item.buffers.push_back(values[old.value]);
  }
  item.kernel = std::move(kernel);
  return item;
}

std::vector<ValueId> values_of(const KernelItem& item) {
  std::vector<ValueId> values;
  std::size_t next = 0;
  for (const Buffer& buffer : item.kernel.buffers) {
    values.push_back(buffer.kind == Buffer::Kind::kLocal ? ValueId{} : item.buffers[next++]);
  }
  return values;
}

SymExpr iterations(const Body& body) {
  SymExpr count(1);
  for (const Statement& statement : body) {
    if (const auto* loop = std::get_if<Loop>(&statement.data))
      count += loop->extent * iterations(loop->body);
  }
  return count;
}

class ReductionSplitter {
 public:
  ReductionSplitter(const KernelItem& item, ir::Graph& graph)
      : item_(item),
        graph_(graph),
        values_(values_of(item)),
        nest_(loops::take_nest(item.kernel.body)) {}

  // Nullopt-like: empty when the kernel should stay whole.
  std::vector<KernelItem> run() {
    if (!find_loop() || !worth_it()) return {};
    choose_chunks();
    Kernel partial = item_.kernel;
    Kernel rest = item_.kernel;
    partial.name += "_partial";
    std::vector<ValueId> values = values_;
    for (const Reduction& reduction : loop().reductions) {
      Partial& made = partials_.emplace_back(Partial{reduction, {}});
      for (std::size_t k = 0; k < reduction.results.size(); ++k) {
        const bool position = k == 1 && reduction.op != loops::ReduceOp::kWelford;
        const ir::DType dtype = position ? ir::DType::kI64 : reduction.dtype;
        made.workspaces.push_back(add_workspace(partial, rest, dtype, values));
      }
    }
    partial.body = partial_body(partial);
    rest.body = rest_body(rest);
    std::vector<KernelItem> items;
    items.push_back(finished(std::move(partial), values));
    items.push_back(finished(std::move(rest), values));
    return items;
  }

 private:
  const Loop& loop() const { return std::get<Loop>(nest_.body[position_].data); }

  // The only loop of the rows' body. Welford's counts are those of its own iterations.
  bool find_loop() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < nest_.body.size(); ++i) {
      if (!std::holds_alternative<Loop>(nest_.body[i].data)) continue;
      position_ = i;
      ++count;
    }
    return count == 1 && !loop().reductions.empty();
  }

  bool worth_it() {
    std::int64_t rows = 1;
    bool columns = false;
    for (const Loop& outer : nest_.loops) {
      if (!outer.extent.is_constant()) return false;
      rows *= outer.extent.constant();
      columns = columns ||
                vector_score(loop().body, outer.variable) > vector_score(loop().body, innermost());
    }
    parallel_ = columns ? (rows + kColumnTile - 1) / kColumnTile : rows;
    const auto length = loop().extent.as_constant();
    tall_ = columns && length && *length >= kTall;
    if (rows == 0 || (parallel_ >= kEnoughParallel && !tall_)) return false;
    const auto work = (loop().extent * iterations(loop().body)).as_constant();
    return !work || rows * *work >= kLargeWork;
  }

  Symbol innermost() const {
    const Loop* inner = &loop();
    while (true) {
      const Loop* next = nullptr;
      for (const Statement& statement : inner->body) {
        if (const auto* found = std::get_if<Loop>(&statement.data)) next = found;
      }
      if (next == nullptr) return inner->variable;
      inner = next;
    }
  }

  void choose_chunks() {
    const SymExpr& extent = loop().extent;
    const std::int64_t wanted = (kParts + parallel_ - 1) / parallel_;
    if (!extent.is_constant()) {
      parts_ = SymExpr(wanted);
      chunk_ = ceildiv(extent, parts_);  // late parts may be empty
      last_ = max(SymExpr(0), min(chunk_, extent - part() * chunk_));
      return;
    }
    const std::int64_t inside =
        std::max<std::int64_t>(1, iterations(loop().body).as_constant().value_or(1));
    const std::int64_t total = extent.constant();
    if (tall_) {
      chunk_ = SymExpr(std::max(kTallChunk, (total + kParts - 1) / kParts));
      parts_ = ceildiv(extent, chunk_);
      last_ = total % chunk_.constant() == 0 ? chunk_ : min(chunk_, extent - part() * chunk_);
      return;
    }
    const std::int64_t least = std::max<std::int64_t>(1, kLeastChunk / inside);
    std::int64_t chunk = std::max((total + wanted - 1) / wanted, std::min(least, total));
    if (chunk > 64) chunk = (chunk + 63) / 64 * 64;
    chunk_ = SymExpr(chunk);
    parts_ = SymExpr((total + chunk - 1) / chunk);
    last_ = total % chunk == 0 ? chunk_ : min(chunk_, extent - part() * chunk_);
  }

  SymExpr part() const { return SymExpr::symbol(part_variable_); }

  SymExpr workspace_index() const {
    SymExpr index;
    for (const Loop& outer : nest_.loops)
      index = index * outer.extent + SymExpr::symbol(outer.variable);
    SymExpr rows(1);
    for (const Loop& outer : nest_.loops) rows *= outer.extent;
    return part() * rows + index;  // columns stay side by side
  }

  BufferId add_workspace(Kernel& partial, Kernel& rest, ir::DType dtype,
                         std::vector<ValueId>& values) {
    SymExpr rows(1);
    for (const Loop& outer : nest_.loops) rows *= outer.extent;
    ir::TensorType type;
    type.dtype = dtype;
    type.device = device();
    type.sizes = {rows * parts_};
    type.strides = {SymExpr(1)};
    const ValueId value = graph_.add_value(type, item_.kernel.name + "_partial");
    Buffer buffer;
    buffer.kind = Buffer::Kind::kWorkspace;
    buffer.name = graph_.value(value).name;
    buffer.dtype = dtype;
    buffer.extent = rows * parts_;
    values.push_back(value);
    rest.buffers.push_back(buffer);
    return partial.buffers.push_back(std::move(buffer));
  }

  ir::Device device() const { return graph_.tensor(item_.buffers.at(0)).device; }

  Body partial_body(Kernel& partial) const {
    Nest nest = nest_;
    Loop chunk = loop();
    const Symbol variable = chunk.variable;
    loops::substitute(chunk.body, variable, SymExpr::symbol(variable) + part() * chunk_);
    chunk.extent = last_;
    Body body(nest.body.begin(), nest.body.begin() + static_cast<long>(position_));
    std::erase_if(body, [](const Statement& s) { return std::holds_alternative<Store>(s.data); });
    body.push_back(Statement{std::move(chunk)});
    for (const Partial& made : partials_) {
      for (std::size_t k = 0; k < made.workspaces.size(); ++k) {
        ScalarId result = made.reduction.results[k];
        if (k == 1 && partial.buffers[made.workspaces[k]].dtype == ir::DType::kI64)
          result = in_the_whole(partial, body, result);
        body.push_back(Statement{Store{made.workspaces[k], workspace_index(), result}});
      }
    }
    Loop parts;
    parts.variable = part_variable_;
    parts.extent = parts_;
    nest.loops.push_back(std::move(parts));
    nest.body = std::move(body);
    Body result = loops::rebuild(std::move(nest));
    simplify_indices(result);
    return result;
  }

  // A flat position taken apart and put together again is itself, in the chunk as in the whole.
  static void simplify_indices(Body& body) {
    ir::SymRanges ranges;
    loops::for_each_statement(body, [&](const Statement& statement) {
      if (const auto* loop = std::get_if<Loop>(&statement.data))
        ranges.set_extent(loop->variable, loop->extent);
    });
    loops::for_each_index(body, [&](SymExpr& e) {
      if (!e.is_constant()) e = simplify(e, ranges);
    });
  }

  // A position in the chunk as one in the loop that was cut.
  ScalarId in_the_whole(Kernel& partial, Body& body, ScalarId position) const {
    Instruction begin;
    begin.op = loops::ScalarOp::kIndex;
    begin.dtype = ir::DType::kI64;
    begin.index = part() * chunk_;
    begin.result = partial.new_scalar();
    Instruction sum;
    sum.op = loops::ScalarOp::kAdd;
    sum.dtype = ir::DType::kI64;
    sum.args = {position, begin.result};
    sum.result = partial.new_scalar();
    const ScalarId result = sum.result;
    body.push_back(Statement{std::move(begin)});
    body.push_back(Statement{std::move(sum)});
    return result;
  }

  Body rest_body(Kernel& rest) const {
    Nest nest = nest_;
    Body merged = merge_parts(rest, partials_,
                              {part_variable_, parts_, last_, loop().extent, workspace_index()});
    const auto at = nest.body.begin() + static_cast<long>(position_);
    nest.body.insert(nest.body.erase(at), std::make_move_iterator(merged.begin()),
                     std::make_move_iterator(merged.end()));
    return loops::rebuild(std::move(nest));
  }

  const KernelItem& item_;
  ir::Graph& graph_;
  std::vector<ValueId> values_;
  Nest nest_;
  std::size_t position_ = 0;
  std::int64_t parallel_ = 1;
  bool tall_ =
      false;  // columns so long that walking down one leaves the pages of the others behind
  Symbol part_variable_{"part"};
  SymExpr parts_, chunk_, last_;
  std::vector<Partial> partials_;
};

// Side by side nests
// ------------------------------------------------------------------------------------

bool has_locals(const Kernel& kernel) {
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [](const Buffer& b) { return b.kind == Buffer::Kind::kLocal; });
}

// Only pure instructions and loops without reductions: nothing passes from one loop to another.
bool side_by_side(const Kernel& kernel) {
  std::size_t count = 0;
  for (const Statement& statement : kernel.body) {
    if (const auto* loop = std::get_if<Loop>(&statement.data)) {
      if (!loop->reductions.empty()) return false;
      ++count;
    } else if (!std::holds_alternative<Instruction>(statement.data)) {
      return false;
    }
  }
  return count > 1 && !has_locals(kernel);
}

bool same_extents(const Nest& a, const Nest& b) {
  return std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(),
                    [](const Loop& x, const Loop& y) { return x.extent == y.extent; });
}

std::vector<Nest> joined_nests(const Kernel& kernel) {
  std::vector<Nest> nests;
  for (const Statement& statement : kernel.body) {
    if (!std::holds_alternative<Loop>(statement.data)) continue;
    Nest nest = loops::take_nest({statement});
    const auto match = std::find_if(nests.begin(), nests.end(),
                                    [&](const Nest& other) { return same_extents(other, nest); });
    if (match == nests.end() || loops::has_loops(nest.body)) {
      nests.push_back(std::move(nest));
      continue;
    }
    std::map<Symbol, SymExpr> renamed;
    for (std::size_t i = 0; i < nest.loops.size(); ++i) {
      renamed[nest.loops[i].variable] = SymExpr::symbol(match->loops[i].variable);
    }
    loops::substitute(nest.body, renamed);
    std::move(nest.body.begin(), nest.body.end(), std::back_inserter(match->body));
  }
  return nests;
}

std::vector<KernelItem> distribute(const KernelItem& item) {
  Body shared;
  for (const Statement& statement : item.kernel.body) {
    if (std::holds_alternative<Instruction>(statement.data)) shared.push_back(statement);
  }
  std::vector<Nest> nests = joined_nests(item.kernel);
  const auto work = iterations(item.kernel.body).as_constant();
  const bool apart = nests.size() == 1 || !work || *work >= kLargeWork;
  std::vector<KernelItem> items;
  Kernel rest = item.kernel;
  rest.body = shared;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    Body nest = loops::rebuild(std::move(nests[i]));
    rest.body.push_back(std::move(nest[0]));
    if (!apart) continue;
    if (nests.size() > 1) rest.name = item.kernel.name + "_" + std::to_string(i);
    items.push_back(finished(std::move(rest), values_of(item)));
    rest = item.kernel;
    rest.body = shared;
  }
  if (!apart) items.push_back(finished(std::move(rest), values_of(item)));
  return items;
}

}  // namespace

std::vector<KernelItem> split_kernel(KernelItem item, ir::Graph& graph) {
  loops::normalize_loops(item.kernel);
  if (side_by_side(item.kernel)) return distribute(item);
  std::vector<KernelItem> parts = ReductionSplitter(item, graph).run();
  if (parts.empty()) parts.push_back(std::move(item));
  return parts;
}

}  // namespace triptych::mapping
