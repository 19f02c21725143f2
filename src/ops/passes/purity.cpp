#include "ops/passes/purity.h"

#include "ops/op_table.h"

namespace triptych::ops {

bool is_pure(const ir::Target& target) {
  const OpInfo* row = find(target);
  if (row == nullptr || target.schema->mutates()) return false;
  return !row->has(Tag::kRandom) && !row->has(Tag::kEffect) && !row->has(Tag::kInplace);
}

}  // namespace triptych::ops
