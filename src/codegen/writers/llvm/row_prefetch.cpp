#include "codegen/writers/llvm/row_prefetch.h"

#include "codegen/writers/llvm/index_text.h"

namespace triptych::writers::llvm {

void RowPrefetch::begin(const loops::Loop& loop) {
  if (rows_.empty()) return;
  std::vector<Read> left;
  for (const Read& read : rows_.back().reads) {
    if (read.loop->extent != loop.extent) {
      left.push_back(read);
      continue;
    }
    asked_for_.emplace_back(read.buffer,
                            read.next.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
                              if (symbol != read.loop->variable) return std::nullopt;
                              return SymExpr::symbol(loop.variable);
                            }));
  }
  rows_.back().reads = std::move(left);
}

void RowPrefetch::end(const loops::Loop& loop) {
  asked_for_.clear();
  if (rows_.empty()) return;
  for (const loops::Statement& statement : loop.body) {
    const auto* load = std::get_if<loops::Instruction>(&statement.data);
    if (load == nullptr || load->op != loops::ScalarOp::kLoad) continue;
    if (rows_.back().seen.insert(load->buffer).second) {
      note(rows_.back(), loop, load->buffer, load->index);
    }
  }
}

// Inputs that are larger than the caches, of which neighbouring lanes read neighbours.
void RowPrefetch::note(Row& row, const loops::Loop& loop, BufferId buffer, const SymExpr& index) {
  const loops::Buffer& from = scope_.kernel.buffers[buffer];
  const std::int64_t bytes = ir::dtype_bytes(from.dtype);
  const auto extent = from.extent.as_constant();
  if (from.kind != loops::Buffer::Kind::kInput || scope_.indirect(index) ||
      (extent && *extent * bytes < scope_.traits.l2_bytes)) {
    return;
  }
  const auto in_row = index.linear_in(loop.variable);
  const auto over_rows = index.linear_in(row.variable);
  if (!in_row || *in_row->coefficient != SymExpr(1) || !over_rows) return;
  const auto step = over_rows->coefficient->as_constant();
  if (!step || *step <= 0 || *step * bytes > scope_.traits.l1_bytes / 4) return;
  row.reads.push_back({buffer, index + SymExpr(*step), &loop});
}

void RowPrefetch::print() {
  for (const auto& [buffer, index] : asked_for_) {
    for (int u = 0; u < scope_.vector.unroll; ++u) {
      const Access where = access(scope_, buffer, index, u);
      if (where.kind != Access::Kind::kContiguous) continue;
      scope_.code.declare("llvm.prefetch.p0", "void @llvm.prefetch.p0(ptr, i32, i32, i32)");
      constexpr std::string_view kReadToNearestCache = "i32 0, i32 3, i32 1";
      scope_.code.here() += cat("  call void @llvm.prefetch.p0(ptr ", where.pointer.text, ", ",
                                kReadToNearestCache, ")\n");
    }
  }
}

}  // namespace triptych::writers::llvm
