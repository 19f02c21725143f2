#include "codegen/loops/cleanup.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "codegen/loops/fusion/group.h"
#include "codegen/loops/loop_tree.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

void erase_stores(Body& body, const std::function<bool(BufferId)>& keep) {
  std::erase_if(body, [&](const Statement& statement) {
    const auto* store = std::get_if<Store>(&statement.data);
    return store != nullptr && !keep(store->buffer);
  });
  for (Statement& statement : body) {
    if (auto* loop = std::get_if<Loop>(&statement.data)) erase_stores(loop->body, keep);
  }
}

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t hash_of(const Instruction& instruction) {
  std::size_t hash =
      static_cast<std::size_t>(instruction.op) * 64 + static_cast<std::size_t>(instruction.dtype);
  for (ScalarId arg : instruction.args) hash = mix(hash, arg.value);
  hash = mix(hash, instruction.index.hash());
  hash = mix(hash, instruction.buffer.value);
  if (const auto* number = std::get_if<double>(&instruction.constant)) {
    hash = mix(hash, std::bit_cast<std::uint64_t>(*number));
  } else if (const auto* integer = std::get_if<std::int64_t>(&instruction.constant)) {
    hash = mix(hash, static_cast<std::size_t>(*integer));
  }
  return hash;
}

bool same_constant(const Instruction& a, const Instruction& b) {
  const auto* x = std::get_if<double>(&a.constant);
  const auto* y = std::get_if<double>(&b.constant);
  if (x != nullptr && y != nullptr) {
    return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  }
  return a.constant == b.constant;
}

bool same(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.dtype == b.dtype && a.args == b.args && a.buffer == b.buffer &&
         same_constant(a, b) && a.index == b.index;
}

class CommonEliminator {
 public:
  explicit CommonEliminator(Kernel& kernel) : kernel_(kernel), renamed_(kernel.num_scalars) {}

  void run() { body(kernel_.body); }

 private:
  ScalarId now(ScalarId id) const {
    return id.value < renamed_.size() && renamed_[id.value].valid() ? renamed_[id.value] : id;
  }

  void rewrite(SymExpr& e) {
    if (e.is_constant() || !index_scalars_renamed_) return;
    e = e.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
      const auto scalar = scalar_of_symbol(symbol);
      if (!scalar || now(*scalar) == *scalar) return std::nullopt;
      return SymExpr::symbol(scalar_symbol(now(*scalar)));
    });
  }

  void body(Body& statements) {
    const std::size_t scope = added_.size();
    std::erase_if(statements, [&](Statement& statement) { return visit(statement); });
    for (std::size_t i = scope; i < added_.size(); ++i) {
      auto& bucket = table_[added_[i]];
      bucket.pop_back();
    }
    added_.resize(scope);
  }

  bool visit(Statement& statement) {  // true: the statement is a copy of an earlier one
    if (auto* loop = std::get_if<Loop>(&statement.data)) {
      rewrite(loop->extent);
      body(loop->body);
      for (Reduction& reduction : loop->reductions) reduction.input = now(reduction.input);
      return false;
    }
    if (auto* store = std::get_if<Store>(&statement.data)) {
      store->value = now(store->value);
      rewrite(store->index);
      return false;
    }
    if (auto* check = std::get_if<Check>(&statement.data)) {
      check->condition = now(check->condition);
      return false;
    }
    auto& instruction = std::get<Instruction>(statement.data);
    for (ScalarId& arg : instruction.args) arg = now(arg);
    if (is_commutative(instruction.op)) std::sort(instruction.args.begin(), instruction.args.end());
    rewrite(instruction.index);
    const bool memory = instruction.op == ScalarOp::kLoad &&
                        kernel_.buffers[instruction.buffer].kind != Buffer::Kind::kInput;
    if (memory) return false;
    const std::size_t hash = hash_of(instruction);
    auto& bucket = table_[hash];
    for (const Instruction& seen : bucket) {
      if (!same(seen, instruction)) continue;
      renamed_[instruction.result.value] = seen.result;
      index_scalars_renamed_ = index_scalars_renamed_ || instruction.dtype == DType::kI64;
      return true;
    }
    bucket.push_back(instruction);
    added_.push_back(hash);
    return false;
  }

  Kernel& kernel_;
  std::vector<ScalarId> renamed_;
  bool index_scalars_renamed_ = false;
  std::unordered_map<std::size_t, std::vector<Instruction>> table_;
  std::vector<std::size_t> added_;
};

class DeadEliminator {
 public:
  explicit DeadEliminator(Kernel& kernel) : kernel_(kernel), used_(kernel.num_scalars, false) {}

  void run() { body(kernel_.body); }

 private:
  void use(ScalarId id) {
    if (id.value < used_.size()) used_[id.value] = true;
  }
  void use(const SymExpr& index) {
    if (index.is_constant()) return;
    for (Symbol symbol : index.symbols()) {
      if (const auto scalar = scalar_of_symbol(symbol)) use(*scalar);
    }
  }
  bool used(ScalarId id) const { return used_[id.value]; }

  void body(Body& statements) {  // uses come behind definitions: one pass from the end
    for (std::size_t i = statements.size(); i-- > 0;) {
      if (!visit(statements[i]))
        statements[i].data = Check{};  // marked: no real check lacks a condition
    }
    std::erase_if(statements, [](const Statement& statement) {
      const auto* check = std::get_if<Check>(&statement.data);
      return check != nullptr && !check->condition.valid();
    });
  }

  bool visit(Statement& statement) {  // false: dead
    if (auto* loop = std::get_if<Loop>(&statement.data)) {
      std::erase_if(loop->reductions, [&](const Reduction& reduction) {
        return std::none_of(reduction.results.begin(), reduction.results.end(),
                            [&](ScalarId id) { return used(id); });
      });
      for (const Reduction& reduction : loop->reductions) use(reduction.input);
      body(loop->body);
      if (loop->body.empty() && loop->reductions.empty()) return false;
      use(loop->extent);
      return true;
    }
    if (const auto* store = std::get_if<Store>(&statement.data)) {
      use(store->value);
      use(store->index);
      return true;
    }
    if (const auto* check = std::get_if<Check>(&statement.data)) {
      use(check->condition);
      return true;
    }
    const auto& instruction = std::get<Instruction>(statement.data);
    if (!used(instruction.result)) return false;
    for (ScalarId arg : instruction.args) use(arg);
    if (instruction.op == ScalarOp::kLoad || instruction.op == ScalarOp::kIndex)
      use(instruction.index);
    return true;
  }

  Kernel& kernel_;
  std::vector<bool> used_;
};

}  // namespace

void remove_stores(Kernel& kernel, const std::function<bool(BufferId)>& keep) {
  erase_stores(kernel.body, keep);
}

void remove_rounding(Kernel& kernel) {
  struct Source {
    ScalarId from;
    DType rounded = DType::kF32;
  };
  std::vector<Source> sources(kernel.num_scalars);
  std::vector<DType> types(kernel.num_scalars, DType::kF32);
  std::map<ScalarId, ScalarId> replacements;
  for_each_statement(kernel.body, [&](Statement& statement) {
    const auto* instruction = std::get_if<Instruction>(&statement.data);
    if (instruction == nullptr) {
      const auto* loop = std::get_if<Loop>(&statement.data);
      if (loop == nullptr) return;
      for (const Reduction& reduction : loop->reductions) {
        for (std::size_t i = 0; i < reduction.results.size(); ++i) {
          types[reduction.results[i].value] =
              reduction_result_dtype(reduction.op, reduction.dtype, i);
        }
      }
      return;
    }
    types[instruction->result.value] = instruction->dtype;
    if (instruction->op != ScalarOp::kCast) return;
    const ScalarId arg = instruction->args[0];
    if (is_half(instruction->dtype) && types[arg.value] == DType::kF32) {
      sources[instruction->result.value] = {arg, instruction->dtype};
    }
    const Source& source = sources[arg.value];
    if (instruction->dtype == DType::kF32 && source.from.valid())
      replacements[instruction->result] = source.from;
  });
  replace_scalars(kernel, replacements);
}

void eliminate_common(Kernel& kernel) { CommonEliminator(kernel).run(); }

void forward_locals(Kernel& kernel) {
  std::map<ScalarId, ScalarId> replacements;
  std::vector<bool> loaded(kernel.buffers.size(), false);
  for (std::uint32_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[BufferId{i}].kind != Buffer::Kind::kLocal) continue;
    for (const Site& site : load_sites(kernel, BufferId{i})) {
      const auto stored = visible_store(site, BufferId{i}, site.index());
      if (stored) {
        replacements[std::get<Instruction>(site.statement().data).result] = *stored;
      } else {
        loaded[i] = true;
      }
    }
  }
  replace_scalars(kernel, replacements);
  erase_stores(kernel.body, [&](BufferId id) {
    return kernel.buffers[id].kind != Buffer::Kind::kLocal || loaded[id.value];
  });
}

void eliminate_dead(Kernel& kernel) { DeadEliminator(kernel).run(); }

namespace {

// row, row1, ...: by position, so that equal kernels print alike.
void name_locals(Kernel& kernel) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [&](const Buffer& buffer) {
      return buffer.kind != Buffer::Kind::kLocal && buffer.name == name;
    });
  };
  int number = 0;
  for (Buffer& buffer : kernel.buffers) {
    if (buffer.kind != Buffer::Kind::kLocal) continue;
    do {
      buffer.name = number == 0 ? "row" : "row" + std::to_string(number);
      ++number;
    } while (taken(buffer.name));
  }
}

}  // namespace

std::vector<BufferId> order_buffers(Kernel& kernel) {
  std::vector<BufferId> order;
  std::vector<bool> seen(kernel.buffers.size(), false);
  const auto see = [&](BufferId id) {
    if (seen[id.value]) return;
    seen[id.value] = true;
    order.push_back(id);
  };
  for_each_statement(kernel.body, [&](Statement& statement) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
      if (instruction->op == ScalarOp::kLoad) see(instruction->buffer);
    } else if (const auto* store = std::get_if<Store>(&statement.data)) {
      see(store->buffer);
    }
  });
  const auto rank = [&](BufferId id) {
    switch (kernel.buffers[id].kind) {
      case Buffer::Kind::kInput:
        return 0;
      case Buffer::Kind::kInOut:
        return 1;
      case Buffer::Kind::kOutput:
        return 2;
      case Buffer::Kind::kWorkspace:
        return 3;
      case Buffer::Kind::kLocal:
        return 4;
    }
    TRIPTYCH_UNREACHABLE("buffer kind");
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return rank(a) < rank(b); });
  std::vector<BufferId> renamed(kernel.buffers.size());
  std::vector<Buffer> sorted;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    renamed[order[i].value] = BufferId{i};
    sorted.push_back(std::move(kernel.buffers[order[i]]));
  }
  kernel.buffers.items() = std::move(sorted);
  name_locals(kernel);
  for_each_statement(kernel.body, [&](Statement& statement) {
    if (auto* instruction = std::get_if<Instruction>(&statement.data)) {
      if (instruction->op == ScalarOp::kLoad)
        instruction->buffer = renamed[instruction->buffer.value];
    } else if (auto* store = std::get_if<Store>(&statement.data)) {
      store->buffer = renamed[store->buffer.value];
    }
  });
  return order;
}

}  // namespace triptych::loops
