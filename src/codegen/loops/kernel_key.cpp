// Structure of a kernel without its names. Buffers, symbols, loop variables and scalars are renamed
// by position; the key is the text of what remains.
#include <unordered_map>

#include "codegen/loops/kernel.h"
#include "codegen/loops/kernel_rewrite.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

class Canonicalizer {
 public:
  explicit Canonicalizer(Kernel& kernel) : kernel_(kernel), scalars_(kernel.num_scalars) {}

  void run(bool size_symbols) {
    for (std::size_t i = 0; size_symbols && i < kernel_.symbols.size(); ++i) {
      rename(kernel_.symbols[i], "n" + std::to_string(i));
    }
    body(kernel_.body);
    for (Buffer& buffer : kernel_.buffers) buffer.extent = rewrite(buffer.extent);
    kernel_.num_scalars = next_scalar_;
  }

 private:
  void rename(Symbol& symbol, const std::string& text) {
    const Symbol renamed(text);
    if (renamed != symbol) symbols_.emplace(symbol, renamed);
    symbol = renamed;
  }

  SymExpr rewrite(const SymExpr& e) {
    if (e.is_constant() || symbols_.empty()) return e;
    return e.substitute([&](Symbol s) -> std::optional<SymExpr> {
      const auto found = symbols_.find(s);
      if (found == symbols_.end()) return std::nullopt;
      return SymExpr::symbol(found->second);
    });
  }

  ScalarId define(ScalarId id) {
    const ScalarId renamed{next_scalar_++};
    if (id.value < scalars_.size()) scalars_[id.value] = renamed;
    if (renamed != id) symbols_.insert_or_assign(scalar_symbol(id), scalar_symbol(renamed));
    return renamed;
  }
  ScalarId use(ScalarId id) const { return id.value < scalars_.size() ? scalars_[id.value] : id; }

  void body(std::vector<Statement>& statements) {
    for (Statement& statement : statements) {
      if (auto* loop = std::get_if<Loop>(&statement.data)) {
        loop->extent = rewrite(loop->extent);
        rename(loop->variable, "i" + std::to_string(next_loop_++));
        body(loop->body);
        for (Reduction& reduction : loop->reductions) {
          reduction.input = use(reduction.input);
          for (ScalarId& result : reduction.results) result = define(result);
        }
      } else if (auto* instruction = std::get_if<Instruction>(&statement.data)) {
        for (ScalarId& arg : instruction->args) arg = use(arg);
        instruction->index = rewrite(instruction->index);
        instruction->result = define(instruction->result);
      } else if (auto* store = std::get_if<Store>(&statement.data)) {
        store->index = rewrite(store->index);
        store->value = use(store->value);
      } else {
        Check& check = std::get<Check>(statement.data);
        check.condition = use(check.condition);
      }
    }
  }

  Kernel& kernel_;
  std::vector<ScalarId> scalars_;
  std::unordered_map<Symbol, Symbol> symbols_;
  std::uint32_t next_scalar_ = 0;
  std::uint32_t next_loop_ = 0;
};

}  // namespace

void canonicalize(Kernel& kernel, bool size_symbols) { Canonicalizer(kernel).run(size_symbols); }

std::string structural_key(const Kernel& kernel) {
  Kernel copy = kernel;
  canonicalize(copy, true);
  copy.name = "k";
  copy.origins.clear();
  for (std::size_t i = 0; i < copy.buffers.size(); ++i) {
    copy.buffers.items()[i].name = "b" + std::to_string(i);
  }
  return print(copy);
}

}  // namespace triptych::loops
