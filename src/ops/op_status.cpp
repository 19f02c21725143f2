#include "ops/op_status.h"

#include <array>

#include "ops/op_table.h"

namespace triptych::ops {
namespace {

enum class Status : std::uint8_t { kLowered, kDecomposed, kExternal, kFallback };
constexpr std::array<std::string_view, 4> kNames{"lowered", "decomposed", "external", "fallback"};

Status status_of(const OpInfo& row) {
  if (row.has(Tag::kDataDependent)) return Status::kFallback;
  if (!row.decomposition.empty()) return Status::kDecomposed;
  return row.expression.empty() && row.lowering.empty() ? Status::kExternal : Status::kLowered;
}

std::string_view detail_of(const OpInfo& row) {
  switch (status_of(row)) {
    case Status::kDecomposed:
      return row.decomposition;
    case Status::kExternal:
      return row.no_lowering;
    case Status::kLowered:
      return row.expression.empty() ? row.lowering : row.expression;
    case Status::kFallback:
      return "its result's shape or value depends on data: the graph runs eagerly";
  }
  TRIPTYCH_UNREACHABLE("a status");
}

}  // namespace

std::vector<OpStatus> op_statuses() {
  std::vector<OpStatus> statuses;
  for (const OpInfo& row : all()) {
    statuses.push_back({std::string(row.name), row.has(Tag::kCore) ? "core" : "",
                        std::string(kNames[static_cast<std::size_t>(status_of(row))]),
                        std::string(detail_of(row))});
  }
  return statuses;
}

}  // namespace triptych::ops
