// The process-wide table of targets.
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "ir/graph.h"

namespace triptych::ir {
namespace {

struct TargetTable {
  std::shared_mutex mutex;
  std::unordered_map<std::string_view, std::unique_ptr<Target>>
      targets;  // keys point into the targets
};

TargetTable& table() {
  static auto* const the_table =
      new TargetTable();  // never destroyed: targets live for the process
  return *the_table;
}

Target* find_locked(TargetTable& targets, std::string_view name) {
  const auto found = targets.targets.find(name);
  return found == targets.targets.end() ? nullptr : found->second.get();
}

Target* find_or_add_locked(TargetTable& targets, std::string_view name) {
  if (Target* found = find_locked(targets, name)) return found;
  auto added = std::make_unique<Target>();
  added->name = name;
  Target* const address = added.get();
  targets.targets.emplace(address->name, std::move(added));
  return address;
}

bool same_schema(const Schema* a, const Schema* b) { return a == b || *a == *b; }

}  // namespace

const Target* find_target(std::string_view name) {
  const std::shared_lock lock(table().mutex);
  return find_locked(table(), name);
}

const Target* intern_target(std::string_view name) {
  if (const Target* found = find_target(name)) return found;
  const std::unique_lock lock(table().mutex);
  return find_or_add_locked(table(), name);
}

const Target* intern_target(std::string_view name, std::shared_ptr<const Schema> schema, int op) {
  const std::unique_lock lock(table().mutex);
  Target* const target = find_or_add_locked(table(), name);
  if (target->schema == nullptr) {
    target->schema = std::move(schema);
  } else {
    TRIPTYCH_CHECK(schema == nullptr || same_schema(target->schema.get(), schema.get()),
                   target->name + " is already known with the schema " + target->schema->str());
  }
  if (target->op < 0) target->op = op;
  return target;
}

}  // namespace triptych::ir
