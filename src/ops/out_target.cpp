#include "ops/out_target.h"

#include <array>
#include <atomic>

#include "ops/op_table.h"

namespace triptych::ops {
namespace {

const ir::Target* intern_out_form(const OpInfo& row) {
  auto schema = ir::parse_schema(row.out_schema);
  TRIPTYCH_CHECK(schema.ok(), "op table: out schema of " + std::string(row.name));
  const std::string name = schema.value().qualified();
  const ir::Target* known = ir::find_target(name);
  if (known != nullptr && known->schema != nullptr) return known;
  return ir::intern_target(name, std::make_shared<const ir::Schema>(std::move(schema).value()));
}

}  // namespace

const ir::Target* out_target(const ir::Target& target) {
  // Schemas are parsed when first asked for.
  static std::array<std::atomic<const ir::Target*>, kNumOps> targets{};
  const OpInfo* row = find(target);
  if (row == nullptr || row->out_schema.empty()) return nullptr;
  auto& slot = targets[static_cast<std::size_t>(row->op)];
  if (const ir::Target* known = slot.load(std::memory_order_acquire)) return known;
  const ir::Target* made = intern_out_form(*row);
  slot.store(made, std::memory_order_release);
  return made;
}

}  // namespace triptych::ops
