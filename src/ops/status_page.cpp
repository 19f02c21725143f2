#include "ops/status_page.h"

#include <array>

#include "ops/op_table.h"

namespace triptych::ops {
namespace {

enum class Status : std::uint8_t { kLowered, kDecomposed, kExternal };
constexpr std::array<std::string_view, 3> kNames{"lowered", "decomposed", "external"};

Status status_of(const OpInfo& row) {
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
  }
  TRIPTYCH_UNREACHABLE("a status");
}

}  // namespace

std::string status_page() {
  std::array<int, kNames.size()> counts{};
  std::string rows;
  for (const OpInfo& row : all()) {
    const Status status = status_of(row);
    ++counts[static_cast<std::size_t>(status)];
    rows += "| `" + std::string(row.name) + "` | ";
    rows += row.has(Tag::kCore) ? "core | " : " | ";
    rows += kNames[static_cast<std::size_t>(status)];
    rows += " | " + std::string(detail_of(row)) + " |\n";
  }
  std::string page = "# Ops\n\n" + std::to_string(kNumOps) + " ops:";
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    page += (i == 0 ? " " : ", ") + std::to_string(counts[i]) + " " + std::string(kNames[i]);
  }
  return page +
         ". Every other op is called as it is.\n\n| op | set | status | how "
         "|\n|---|---|---|---|\n" +
         rows;
}

}  // namespace triptych::ops
