#include "ir/symbol_text.h"

#include <array>

#include "ir/sym_text.h"

namespace triptych::ir {
namespace {

std::string bound_text(std::int64_t value) {
  if (value == SymRange::kNegativeInfinity) return "-inf";
  if (value == SymRange::kPositiveInfinity) return "inf";
  return std::to_string(value);
}

Result<std::int64_t> parse_bound(Scanner& scanner) {
  if (scanner.accept("-inf")) return SymRange::kNegativeInfinity;
  if (scanner.accept("inf")) return SymRange::kPositiveInfinity;
  return scanner.integer();
}

// "<=" stands before "<", which it begins with.
constexpr std::array<std::pair<std::string_view, SymGuard::Kind>, 4> kOperators{
    {{"==", SymGuard::Kind::kEq},
     {"!=", SymGuard::Kind::kNe},
     {"<=", SymGuard::Kind::kLe},
     {"<", SymGuard::Kind::kLt}}};

}  // namespace

void append_symbol_info(const SymbolInfo& symbol, std::string& out) {
  out += symbol.name.str() + " in [" + bound_text(symbol.low) + ", " + bound_text(symbol.high) +
         "] hint " + std::to_string(symbol.hint);
}

Result<SymbolInfo> parse_symbol_info(Scanner& scanner) {
  SymbolInfo info;
  const std::string_view name = scanner.word();
  if (name.empty()) return scanner.error("the symbol's name");
  info.name = Symbol(name);
  TRIPTYCH_TRY([[maybe_unused]] const Unit in, scanner.expect("in"));
  TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner.expect("["));
  TRIPTYCH_TRY(info.low, parse_bound(scanner));
  TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner.expect(","));
  TRIPTYCH_TRY(info.high, parse_bound(scanner));
  TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner.expect("]"));
  TRIPTYCH_TRY([[maybe_unused]] const Unit hint, scanner.expect("hint"));
  TRIPTYCH_TRY(info.hint, scanner.integer());
  return info;
}

std::string relation_text(const SymGuard& guard) {
  std::string out;
  append_sym_expr(guard.left, out);
  for (const auto& [text, kind] : kOperators) {
    if (kind == guard.kind) out += " " + std::string(text) + " ";
  }
  append_sym_expr(guard.right, out);
  return out;
}

void append_guard(const SymGuard& guard, std::string& out) {
  out += relation_text(guard);
  if (!guard.reason.empty()) out += " because " + quote(guard.reason);
}

Result<SymGuard> parse_guard(Scanner& scanner) {
  SymGuard guard;
  TRIPTYCH_TRY(guard.left, parse_sym_expr(scanner));
  bool found = false;
  for (const auto& [text, kind] : kOperators) {
    if (found || !scanner.accept(text)) continue;
    guard.kind = kind;
    found = true;
  }
  if (!found) return scanner.error("'==', '!=', '<' or '<='");
  TRIPTYCH_TRY(guard.right, parse_sym_expr(scanner));
  if (scanner.accept("because")) {
    TRIPTYCH_TRY(guard.reason, scanner.quoted());
  }
  return guard;
}

}  // namespace triptych::ir
