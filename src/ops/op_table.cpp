#include "ops/op_table.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "ir/graph_text.h"
#include "ops/op_rows.h"

namespace triptych::ops {
namespace {

ir::Schema parsed_schema(std::string_view text) {
  auto schema = ir::parse_schema(text);
  TRIPTYCH_CHECK(schema.ok(), schema.error().describe() + " in " + std::string(text));
  return std::move(schema).value();
}

}  // namespace

std::span<const OpInfo> all() { return rows(); }

const OpInfo& info(Op op) { return rows()[static_cast<std::size_t>(op)]; }

const OpInfo* find(std::string_view name) {
  const auto table = rows();
  const auto row =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const OpInfo& info, std::string_view key) { return info.name < key; });
  return row != table.end() && row->name == name ? &*row : nullptr;
}

const OpInfo* find(const ir::Target& target) {
  return target.op >= 0 ? &info(static_cast<Op>(target.op)) : nullptr;
}

const ir::Target* target(Op op) {
  // Schemas are parsed when first asked for: a program uses few of them.
  static std::array<std::atomic<const ir::Target*>, kNumOps> targets{};
  auto& slot = targets[static_cast<std::size_t>(op)];
  if (const ir::Target* known = slot.load(std::memory_order_acquire)) return known;
  const OpInfo& row = info(op);
  const ir::Target* made =
      ir::intern_target(row.name, std::make_shared<const ir::Schema>(parsed_schema(row.schema)),
                        static_cast<int>(op));
  slot.store(made, std::memory_order_release);
  return made;
}

const ir::Target* find_target(std::string_view name) {
  const OpInfo* row = find(name);
  return row != nullptr ? target(row->op) : ir::find_target(name);
}

Result<const ir::Target*> register_op(std::string_view schema) {
  TRIPTYCH_TRY(ir::Schema parsed, ir::parse_schema(schema));
  const std::string name = parsed.qualified();
  const ir::Target* known = find_target(name);
  if (known != nullptr && known->schema != nullptr) {
    if (*known->schema == parsed) return known;
    return user_error("ops.register", name + ": found the schema " + parsed.str() +
                                          ", expected the known one, " + known->schema->str());
  }
  return ir::intern_target(name, std::make_shared<const ir::Schema>(std::move(parsed)));
}

Result<ir::Graph> parse_graph(std::string_view text, const ir::ConstantBytes& constants) {
  return ir::parse_graph(text, constants, [](std::string_view name) { return find_target(name); });
}

}  // namespace triptych::ops
