#include "codegen/loops/fusion/group.h"

#include <algorithm>

#include "codegen/loops/scalar_types.h"

namespace triptych::loops {

BufferId Group::find(ValueId value) const {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return BufferId{};
  return BufferId{static_cast<std::uint32_t>(found - values.begin())};
}
bool Group::writes(ValueId value) const {
  const BufferId id = find(value);
  return id.valid() && kernel.buffers[id].kind == Buffer::Kind::kOutput;
}
bool Group::reads(ValueId value) const {
  const BufferId id = find(value);
  return id.valid() && kernel.buffers[id].kind == Buffer::Kind::kInput;
}

Group make_group(KernelItem item) {
  Group group;
  group.kernel = std::move(item.kernel);
  std::size_t next = 0;
  for (const Buffer& buffer : group.kernel.buffers) {
    const bool local = buffer.kind == Buffer::Kind::kLocal;
    group.values.push_back(local ? ValueId{} : item.buffers.at(next++));
  }
  normalize_loops(group.kernel);
  classify(group);
  return group;
}

NestView outer_nest(const Kernel& kernel) {
  NestView view;
  view.body = &kernel.body;
  while (view.body->size() == 1) {
    const auto* loop = std::get_if<Loop>(&(*view.body)[0].data);
    if (loop == nullptr || !loop->reductions.empty()) break;
    view.loops.push_back(loop);
    view.body = &loop->body;
  }
  return view;
}

void classify(Group& group) {
  group.pointwise = !has_loops(*outer_nest(group.kernel).body);
  group.has_checks = false;
  for_each_statement(std::as_const(group.kernel.body), [&](const Statement& s) {
    group.has_checks = group.has_checks || std::holds_alternative<Check>(s.data);
  });
}

namespace {

Statement* find_loop(Body& body, Symbol variable) {
  for (Statement& statement : body) {
    auto* loop = std::get_if<Loop>(&statement.data);
    if (loop == nullptr) continue;
    if (loop->variable == variable) return &statement;
    if (Statement* inside = find_loop(loop->body, variable)) return inside;
  }
  return nullptr;
}

}  // namespace

bool split_loop(Kernel& kernel, Symbol variable, const SymExpr& inner, FreshNames& names) {
  Statement* statement = find_loop(kernel.body, variable);
  if (statement == nullptr) return false;
  Loop whole = std::move(std::get<Loop>(statement->data));
  const auto outer_extent = exact_quotient(whole.extent, inner);
  if (!whole.reductions.empty() || !outer_extent) {
    statement->data = std::move(whole);
    return false;
  }
  Loop outer, inside;
  outer.variable = names.loop();
  outer.extent = *outer_extent;
  inside.variable = names.loop();
  inside.extent = inner;
  substitute(whole.body, variable,
             SymExpr::symbol(outer.variable) * inner + SymExpr::symbol(inside.variable));
  inside.body = std::move(whole.body);
  outer.body.push_back(Statement{std::move(inside)});
  statement->data = std::move(outer);
  return true;
}

Importer::Importer(Group& host, const Group& guest, FreshNames& names)
    : host_(host),
      guest_(guest),
      names_(names),
      buffers_(guest.values.size()),
      scalars_(guest.kernel.num_scalars) {
  for (Symbol symbol : guest.kernel.symbols) {
    auto& symbols = host.kernel.symbols;
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      symbols.push_back(symbol);
  }
}

BufferId Importer::buffer(BufferId guest) {
  BufferId& mapped = buffers_[guest.value];
  if (mapped.valid()) return mapped;
  const ValueId value = guest_.values[guest.value];
  const Buffer& buffer = guest_.kernel.buffers[guest];
  mapped = value.valid() ? host_.find(value) : BufferId{};
  if (!mapped.valid()) {
    mapped = host_.kernel.buffers.push_back(buffer);
    host_.values.push_back(value);
    return mapped;
  }
  Buffer& existing = host_.kernel.buffers[mapped];
  if (buffer.kind == Buffer::Kind::kOutput) existing.kind = Buffer::Kind::kOutput;
  return mapped;
}

void Importer::map_scalar(ScalarId guest, ScalarId host) {
  scalars_[guest.value] = host;
  symbols_.insert_or_assign(scalar_symbol(guest), SymExpr::symbol(scalar_symbol(host)));
}

ScalarId Importer::scalar(ScalarId guest) const {
  const ScalarId mapped = scalars_[guest.value];
  TRIPTYCH_CHECK(mapped.valid(), "fusion imports definitions before uses");
  return mapped;
}

ScalarId Importer::define(ScalarId guest) {
  const ScalarId fresh = host_.kernel.new_scalar();
  // Only i64 scalars are used as symbols, and rarely: entries for all would slow every
  // substitution.
  scalars_[guest.value] = fresh;
  return fresh;
}

SymExpr Importer::index(const SymExpr& guest) const {
  if (guest.is_constant()) return guest;
  return guest.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
    if (const auto found = symbols_.find(symbol); found != symbols_.end()) return found->second;
    const auto scalar = scalar_of_symbol(symbol);
    if (scalar && scalar->value < scalars_.size() && scalars_[scalar->value].valid()) {
      return SymExpr::symbol(scalar_symbol(scalars_[scalar->value]));
    }
    return std::nullopt;
  });
}

Statement Importer::import(const Statement& statement) {
  if (const auto* instruction = std::get_if<Instruction>(&statement.data)) {
    Instruction copy = *instruction;
    for (ScalarId& arg : copy.args) arg = scalar(arg);
    if (copy.op == ScalarOp::kLoad) copy.buffer = buffer(copy.buffer);
    copy.index = index(copy.index);
    copy.result = define(copy.result);
    return Statement{std::move(copy)};
  }
  if (const auto* store = std::get_if<Store>(&statement.data)) {
    return Statement{Store{buffer(store->buffer), index(store->index), scalar(store->value)}};
  }
  if (const auto* check = std::get_if<Check>(&statement.data)) {
    return Statement{Check{scalar(check->condition), check->code}};
  }
  const Loop& loop = std::get<Loop>(statement.data);
  Loop copy;
  copy.extent = index(loop.extent);
  copy.variable = names_.loop();
  map_variable(loop.variable, SymExpr::symbol(copy.variable));
  copy.body.reserve(loop.body.size());
  for (const Statement& inner : loop.body) copy.body.push_back(import(inner));
  for (const Reduction& reduction : loop.reductions) {
    Reduction renamed = reduction;
    renamed.input = scalar(reduction.input);
    for (ScalarId& result : renamed.results) result = define(result);
    copy.reductions.push_back(std::move(renamed));
  }
  return Statement{std::move(copy)};
}

void replace_scalars(Kernel& kernel, const std::map<ScalarId, ScalarId>& replacements) {
  if (replacements.empty()) return;
  const auto final = [&](ScalarId id) {
    for (auto found = replacements.find(id); found != replacements.end();
         found = replacements.find(id)) {
      id = found->second;
    }
    return id;
  };
  const auto rewrite = [&](SymExpr& e) {
    if (e.is_constant()) return;
    bool any = false;
    for (Symbol symbol : e.symbols()) {
      const auto scalar = scalar_of_symbol(symbol);
      any = any || (scalar && replacements.contains(*scalar));
    }
    if (!any) return;
    e = e.substitute([&](Symbol symbol) -> std::optional<SymExpr> {
      const auto scalar = scalar_of_symbol(symbol);
      if (!scalar) return std::nullopt;
      return SymExpr::symbol(scalar_symbol(final(*scalar)));
    });
  };
  for_each_statement(kernel.body, [&](Statement& statement) {
    if (auto* instruction = std::get_if<Instruction>(&statement.data)) {
      for (ScalarId& arg : instruction->args) arg = final(arg);
      rewrite(instruction->index);
    } else if (auto* store = std::get_if<Store>(&statement.data)) {
      store->value = final(store->value);
      rewrite(store->index);
    } else if (auto* check = std::get_if<Check>(&statement.data)) {
      check->condition = final(check->condition);
    } else {
      Loop& loop = std::get<Loop>(statement.data);
      rewrite(loop.extent);
      for (Reduction& reduction : loop.reductions) reduction.input = final(reduction.input);
    }
  });
}

}  // namespace triptych::loops
